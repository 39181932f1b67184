import { toBase64 } from "../../codec/base64";
import { encodeCbor } from "../../codec/cbor-encode";

export const encodeInput = (value: unknown): string => toBase64(encodeCbor(value, "input"));
