import "../create";

export { openLine } from "../connection/line";
export { openSocket } from "../open-socket";
