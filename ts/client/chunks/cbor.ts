import "../create";
import { jsCodec } from "../../codec/index";
import { cborFormats } from "../../wire/cbor-format";

export const formats = cborFormats(jsCodec);
