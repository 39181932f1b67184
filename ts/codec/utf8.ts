import { malformed } from "../errors/malformed";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A text from its bytes, exactly; anything but UTF-8 is refused. */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed("text that is not UTF-8");
  }
}
