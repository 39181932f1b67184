/** One live state: decoded when first needed, seen through write-through proxies. */
import { type Watcher, WriteThrough } from "./write-through";

export class StateCell {
  readonly #root: string;
  readonly #load: () => unknown;
  readonly #watcher: Watcher;
  #lazyTree: WriteThrough | undefined;
  #loaded = false;
  #value: unknown;

  /** `root` names the state in errors; `load` yields its stored value. */
  constructor(root: string, load: () => unknown, watcher: Watcher) {
    this.#root = root;
    this.#load = load;
    this.#watcher = watcher;
  }

  /** Made when first needed: many cells are never looked at. */
  get #tree(): WriteThrough {
    this.#lazyTree ??= new WriteThrough(this.#watcher);
    return this.#lazyTree;
  }

  /** False as long as nobody has looked: then nothing can have changed. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** The value behind the proxies, for the encoder. */
  get raw(): unknown {
    if (!this.#loaded) {
      this.#value = this.#load();
      this.#loaded = true;
    }
    return this.#value;
  }

  get view(): unknown {
    return this.#tree.view(this.raw, this.#root);
  }

  /** Forgets the value and every view on it; the next look loads it anew. */
  reset(): void {
    this.#lazyTree = undefined;
    this.#loaded = false;
    this.#value = undefined;
  }

  /** Replaces the whole state. */
  replace(value: unknown): void {
    this.#watcher.beforeChange();
    this.#value = this.#tree.adopt(value, this.#root);
    this.#loaded = true;
    this.#watcher.changed();
  }
}
