import "../create";

export * from "../raw-http";
