import "../create";
import { jsCodec } from "../../codec/index";
import { bareFormats } from "../../wire/bare-format";

export const formats = bareFormats(jsCodec);
