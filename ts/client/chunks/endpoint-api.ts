import "../create";

export * from "../endpoint-api";
