"use strict";
// The public entry. Every name is assigned literally, so that `import { actor }
// from "greenroom"` finds it without running this file.

const native = require("./native.js");
const lib = require("./lib/index.js");

// The native classes and functions.
module.exports.ActorContext = native.ActorContext;
module.exports.CancellationToken = native.CancellationToken;
module.exports.ConnHandle = native.ConnHandle;
module.exports.CoreRegistry = native.CoreRegistry;
module.exports.HttpRequestBodyStream = native.HttpRequestBodyStream;
module.exports.HttpResponseBodyStream = native.HttpResponseBodyStream;
module.exports.JsActorStateTransaction = native.JsActorStateTransaction;
module.exports.JsNativeDatabase = native.JsNativeDatabase;
module.exports.JsSqlCursor = native.JsSqlCursor;
module.exports.JsSqliteTransaction = native.JsSqliteTransaction;
module.exports.Kv = native.Kv;
module.exports.LocalFetch = native.LocalFetch;
module.exports.LocalSocket = native.LocalSocket;
module.exports.NapiActorFactory = native.NapiActorFactory;
module.exports.OutboundCall = native.OutboundCall;
module.exports.Queue = native.Queue;
module.exports.QueueMessage = native.QueueMessage;
module.exports.Schedule = native.Schedule;
module.exports.WebSocket = native.WebSocket;
module.exports.WorkflowSpan = native.WorkflowSpan;
module.exports.WorkflowStepSpan = native.WorkflowStepSpan;
module.exports.decodeCbor = native.decodeCbor;
module.exports.decodeInspectorRequest = native.decodeInspectorRequest;
module.exports.encodeCbor = native.encodeCbor;
module.exports.encodeInspectorResponse = native.encodeInspectorResponse;
module.exports.nativeVersion = native.nativeVersion;
module.exports.setTelemetryLogSink = native.setTelemetryLogSink;
module.exports.shutdownTelemetry = native.shutdownTelemetry;

// The TypeScript layer.
module.exports.ActorError = lib.ActorError;
module.exports.Registry = lib.Registry;
module.exports.RivetError = lib.RivetError;
module.exports.UserError = lib.UserError;
module.exports.actor = lib.actor;
module.exports.createClient = lib.createClient;
module.exports.db = lib.db;
module.exports.event = lib.event;
module.exports.queue = lib.queue;
module.exports.setup = lib.setup;
module.exports.sql = lib.sql;
