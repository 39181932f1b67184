// Each chunk imports the core, which a page has already, and one of values also what
// all encodings share: so that the bundler makes one file of each, not of every part.
import "../create";
import "../../wire/format";

export { toBase64 } from "../../codec/base64";
export { jsCodec } from "../../codec/index";
