import "../create";

export { Line } from "../connection/line";
export { openSocket } from "../open-socket";
