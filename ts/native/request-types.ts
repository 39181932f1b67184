/** Native forms of raw HTTP and WebSocket traffic (see `types.ts`). */

export interface NativeRequest {
  method: string;
  /** Path and query as the actor sees them. */
  uri: string;
  /** Names in lower case. */
  headers?: Record<string, string>;
  body?: Uint8Array;
  bodyStream?: NativeRequestBody;
}

export interface NativeRequestBody {
  /** The next chunk, or null at the end. */
  read(): Promise<Uint8Array | null>;
  cancel(): Promise<void>;
}

export interface NativeResponseBody {
  /** Waits for room; fails when nobody reads any more. */
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
  error(message: string): Promise<void>;
  /** Resolves when the reading side is gone, also after the regular end. */
  cancelled(): Promise<void>;
}

export interface NativeResponse {
  status?: number;
  headers?: Record<string, string>;
  body?: Uint8Array;
  stream?: boolean;
}

export type NativeSocketEvent =
  | { kind: "message"; data: string | Uint8Array; binary: boolean; messageIndex?: number }
  | { kind: "close"; code: number; reason: string; wasClean: boolean };

export interface NativeWebSocket {
  send(data: Uint8Array, binary: boolean): void;
  close(code?: number, reason?: string): void;
  setEventCallback(callback: (event: NativeSocketEvent) => void): void;
}
