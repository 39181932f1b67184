import "../create";

export { jsonFormats as formats } from "../../wire/json-format";
