//! The one table of error codes.
//!
//! Every structured error greenroom raises by itself has a row here: group,
//! code, default text, whether a remote client may read its text, the HTTP
//! status of an actor-level reply, the WebSocket close code and whether trying
//! again can help. Nothing else in the workspace writes a status number.
//!
//! Rows whose text is built from metadata hold the template with `{name}`
//! placeholders; [`crate::Error::with`] fills them.

/// Who may read an error's message and metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Remote clients see message and metadata. The number is the `statusCode`
    /// that crosses the Node bridge; the HTTP reply has its own, [`Code::http`].
    Public(u16),
    /// Remote clients see group and code only; the text is masked.
    Private,
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub group: &'static str,
    pub code: &'static str,
    /// Default text, or a template with `{field}` placeholders.
    pub message: &'static str,
    pub exposure: Exposure,
    /// HTTP status of a reply that carries this error.
    pub http: u16,
    /// WebSocket close code when this error ends a socket.
    pub close: u16,
    /// The same call may succeed later without a change by the caller.
    pub retryable: bool,
}

impl Code {
    pub const fn is_public(&self) -> bool {
        matches!(self.exposure, Exposure::Public(_))
    }
}

const fn row(group: &'static str, code: &'static str, message: &'static str) -> Code {
    Code {
        group,
        code,
        message,
        exposure: Exposure::Private,
        http: 500,
        close: 1011,
        retryable: false,
    }
}

impl Code {
    const fn public(mut self, bridge_status: u16, http: u16) -> Self {
        self.exposure = Exposure::Public(bridge_status);
        self.http = http;
        self
    }
    const fn http(mut self, status: u16) -> Self {
        self.http = status;
        self
    }
    const fn close(mut self, code: u16) -> Self {
        self.close = code;
        self
    }
    const fn retry(mut self) -> Self {
        self.retryable = true;
        self
    }
}

macro_rules! codes {
    ($( $(#[$doc:meta])* $name:ident = $row:expr; )*) => {
        $( $(#[$doc])* pub static $name: Code = $row; )*
        /// Every row, in source order.
        pub static ALL: &[&Code] = &[ $( &$name ),* ];
    };
}

codes! {
    // The runtime itself.
    INTERNAL = row("core", "internal_error", "An internal error occurred");
    /// A request body that cannot be decoded: same masked code as any internal
    /// error, but the client's fault.
    MALFORMED_BODY = row("core", "internal_error", "An internal error occurred").http(400);

    // Lifecycle.
    ACTOR_STARTING = row("actor", "starting", "Actor is starting.").retry();
    ACTOR_NOT_READY = row("actor", "not_ready", "Actor is not ready.").retry();
    ACTOR_STOPPING = row("actor", "stopping", "Actor is stopping.").retry();
    ACTOR_RESTARTING = row("actor", "restarting", "Actor is restarting.").http(503).retry();
    ACTOR_DESTROYING = row("actor", "destroying", "Actor is destroying.").retry();
    ACTOR_SHUTDOWN_TIMEOUT = row("actor", "shutdown_timeout", "Actor shutdown timed out.");
    ACTOR_DROPPED_REPLY = row("actor", "dropped_reply", "Actor reply channel was dropped without a response.").retry();
    ACTOR_OVERLOADED = row("actor", "overloaded", "Actor channel '{channel}' is overloaded while attempting to {operation} (capacity {capacity}).").retry();
    ACTOR_NOT_CONFIGURED = row("actor", "not_configured", "Actor capability '{component}' is not configured.");
    ACTOR_NOT_FOUND = row("actor", "not_found", "Actor {resource} '{id}' was not found.").public(404, 404);
    ACTOR_NOT_REGISTERED = row("actor", "not_registered", "Actor factory '{actor_name}' is not registered.");
    ACTOR_MISSING_INPUT = row("actor", "missing_input", "Actor input is missing.");
    ACTOR_INVALID_OPERATION = row("actor", "invalid_operation", "Actor operation '{operation}' is invalid: {reason}");
    ACTOR_PANICKED = row("actor", "panicked", "Actor task panicked while running {operation}.");
    ACTOR_ABORTED = row("actor", "aborted", "Actor aborted").public(400, 500);
    ACTOR_METHOD_NOT_ALLOWED = row("actor", "method_not_allowed", "Method not allowed").public(405, 405);
    ACTOR_INVALID_REQUEST = row("actor", "invalid_request", "Invalid request: {reason}").http(400);
    ACTOR_ACTION_NOT_FOUND = row("actor", "action_not_found", "Action not found").public(404, 404);
    ACTOR_ACTION_TIMED_OUT = row("actor", "action_timed_out", "Action timed out").public(408, 408);
    ACTOR_CALLBACK_TIMED_OUT = row("actor", "callback_timed_out", "callback `{callback_name}` timed out after {duration_ms} ms");
    ACTOR_JS_CALLBACK_UNAVAILABLE = row("actor", "js_callback_unavailable", "JavaScript callback `{callback}` could not be invoked: {reason}");
    ACTOR_STATE_TRANSACTION_CONFLICT = row("actor", "state_transaction_conflict", "A state transaction of this actor is open.").public(409, 409);
    ACTOR_RUN_HANDLER_UNAVAILABLE = row("actor", "run_handler_unavailable", "The run handler is not available.").public(409, 409);
    ACTOR_WORKFLOW_IN_FLIGHT = row("actor", "workflow_in_flight", "The workflow is in flight.").public(409, 409);
    /// The commit that a reply depended on failed after the action ran.
    ACTOR_OUTCOME_UNKNOWN = row("actor", "outcome_unknown", "The action ran, but its state could not be confirmed on disk; it may or may not have been kept.").public(500, 500);
    ACTOR_UNSUPPORTED_ENCODING = row("actor", "unsupported_websocket_encoding", "Unsupported WebSocket encoding.").close(1003);
    ACTOR_SEND_FAILED = row("actor", "send_failed", "The message could not be encoded for this connection.");
    ACTOR_INIT_ERROR = row("actor", "init_error", "The connection could not be initialised.");
    ACTOR_HIBERNATION_PERSIST_FAILED = row("actor", "hibernation_persist_failed", "The connection's progress could not be saved.");
    ACTOR_STOPPED = row("actor", "stopped", "Actor stopped.").close(1000).retry();
    ACTOR_CORRUPT = row("actor", "storage_corrupt", "The actor's database file is corrupt: {reason}");
    ACTOR_DUPLICATE_KEY = row("actor", "duplicate_key", "Actor key '{key}' already in use for actor '{existing_actor_id}'").public(400, 400);
    ACTOR_EMPTY_KEY = row("actor", "empty_key", "Key label cannot be empty.").public(400, 400);
    ACTOR_KEY_TOO_LARGE = row("actor", "key_too_large", "Key label too large (max {max_size} bytes): {key_preview}").public(400, 400);
    ACTOR_INPUT_TOO_LARGE = row("actor", "input_too_large", "Input too large (max {max_size}).").public(400, 400);
    ACTOR_KV_KEY_NOT_FOUND = row("actor", "kv_key_not_found", "The KV key does not exist for this actor.").public(400, 400);
    ACTOR_DESTROYED_DURING_CREATION = row("actor", "destroyed_during_creation", "Actor was destroyed during creation.").public(400, 400).retry();
    ACTOR_DESTROYED_WHILE_WAITING = row("actor", "destroyed_while_waiting_for_ready", "Actor was destroyed while waiting for ready state.").public(400, 400).retry();

    // Connections.
    CONNECTION_NOT_CONFIGURED = row("connection", "not_configured", "Connection {component} is not configured.");
    CONNECTION_NOT_FOUND = row("connection", "not_found", "Connection '{conn_id}' was not found.");
    CONNECTION_NOT_HIBERNATABLE = row("connection", "not_hibernatable", "Connection '{conn_id}' is not hibernatable.");
    CONNECTION_RESTORE_NOT_FOUND = row("connection", "restore_not_found", "Hibernatable connection restore target was not found");
    /// The client reads more slowly than its actor sends.
    CONNECTION_SLOW_CONSUMER = row("connection", "slow_consumer", "The client does not read fast enough; too much was waiting for it.").close(1013).retry();
    CONNECTION_DISCONNECT_FAILED = row("connection", "disconnect_failed", "Disconnect transport failed for {count} connection(s): {details}");

    // Queue.
    QUEUE_FULL = row("queue", "full", "Queue is full. Limit is {limit} messages.").public(400, 400);
    QUEUE_MESSAGE_TOO_LARGE = row("queue", "message_too_large", "Queue message too large ({size} bytes). Limit is {limit} bytes.").public(400, 400);
    QUEUE_MESSAGE_INVALID = row("queue", "message_invalid", "Queue message is invalid: {reason}").public(400, 400);
    QUEUE_INVALID_PAYLOAD = row("queue", "invalid_payload", "Queue payload is invalid.").public(400, 400);
    QUEUE_INVALID_COMPLETION_PAYLOAD = row("queue", "invalid_completion_payload", "Queue completion payload is invalid.").public(400, 400);
    QUEUE_ALREADY_COMPLETED = row("queue", "already_completed", "Queue message was already completed").public(400, 400);
    QUEUE_PREVIOUS_MESSAGE_NOT_COMPLETED = row("queue", "previous_message_not_completed", "The previous queue message was not completed.").public(400, 400);
    QUEUE_COMPLETE_NOT_CONFIGURED = row("queue", "complete_not_configured", "Queue '{name}' does not support completion responses.").public(400, 400);
    QUEUE_TIMED_OUT = row("queue", "timed_out", "Queue wait timed out after {timeout_ms} ms.").public(400, 400);
    QUEUE_MESSAGE_IDENTITY_MISMATCH = row("queue", "message_identity_mismatch", "Queue message {message_id} is named '{actual_name}', not '{expected_name}'.").http(400);
    QUEUE_COMPLETION_WAITER_CONFLICT = row("queue", "completion_waiter_conflict", "Queue completion waiter is already registered for message {message_id}.").http(400);
    QUEUE_COMPLETION_WAITER_DROPPED = row("queue", "completion_waiter_dropped", "Queue completion waiter dropped before response").http(400);
    QUEUE_NOT_LEASED = row("queue", "not_leased", "Messages of queue '{name}' are not leased.").public(400, 400);
    QUEUE_LEASE_LOST = row("queue", "lease_lost", "Queue message {message_id} is held by nobody or by delivery {attempt}.").public(400, 400);
    QUEUE_DEAD_LETTERED = row("queue", "dead_lettered", "Queue message {message_id} of '{name}' was given up after {attempts} attempts: {reason}").public(400, 400);
    QUEUE_INVALID_MESSAGE_KEY = row("queue", "invalid_message_key", "Queue message key is invalid: {reason}").http(400);

    // Key-value compatibility store.
    KV_KEY_TOO_LARGE = row("kv", "key_too_large", "KV key too large ({size} bytes). Limit is {limit} bytes.").public(400, 500);
    KV_VALUE_TOO_LARGE = row("kv", "value_too_large", "KV value too large ({size} bytes). Limit is {limit} bytes.").public(400, 500);

    // Schedules.
    SCHEDULE_INVALID_NAME = row("schedule", "invalid_name", "Schedule name is invalid: {reason}").public(400, 500);
    SCHEDULE_INVALID_CRON_EXPRESSION = row("schedule", "invalid_cron_expression", "Cron expression is invalid: {reason}").public(400, 500);
    SCHEDULE_INVALID_TIMEZONE = row("schedule", "invalid_timezone", "Schedule timezone '{timezone}' is invalid.").public(400, 500);
    SCHEDULE_INVALID_INTERVAL = row("schedule", "invalid_interval", "Schedule interval must be at least {minimum_ms} ms; received {interval_ms} ms.").public(400, 500);
    SCHEDULE_INVALID_MAX_HISTORY = row("schedule", "invalid_max_history", "Schedule maxHistory must be between 0 and {maximum}; received {max_history}.").public(400, 500);
    SCHEDULE_MAX_SCHEDULES_EXCEEDED = row("schedule", "max_schedules_exceeded", "Actor has reached its limit of {maximum} pending schedules.").public(400, 500);
    SCHEDULE_INVALID_ROW = row("schedule", "invalid_schedule_row", "Stored schedule '{schedule_id}' is invalid: {reason}").public(400, 500);
    SCHEDULE_INTERRUPTED = row("schedule", "interrupted", "Scheduled action was interrupted before completion.").public(400, 500);

    // SQLite.
    SQLITE_CLOSED = row("sqlite", "closed", "SQLite database is closed.");
    SQLITE_NOT_CONFIGURED = row("sqlite", "not_configured", "SQLite {component} is not configured.");
    SQLITE_INVALID_BIND_PARAMETER = row("sqlite", "invalid_bind_parameter", "Invalid SQLite bind parameter {name}: {reason}");
    SQLITE_TRANSACTION_QUEUE_FULL = row("sqlite", "transaction_queue_full", "SQLite transaction coordinator queue is full. Limit is {limit} operations.").retry();
    SQLITE_TRANSACTION_CLOSED = row("sqlite", "transaction_closed", "SQLite transaction coordinator is closed.");
    SQLITE_TRANSACTION_INVALID_ARGUMENT = row("sqlite", "transaction_invalid_argument", "{message}");
    SQLITE_TRANSACTION_UNKNOWN = row("sqlite", "transaction_unknown", "Unknown SQLite transaction handle `{key}`.");
    SQLITE_TRANSACTION_TERMINAL = row("sqlite", "transaction_terminal", "SQLite transaction handle `{key}` is already {state}.");
    SQLITE_TRANSACTION_EXPIRED = row("sqlite", "transaction_expired", "SQLite transaction expired after {timeout_ms} ms and was rolled back. Raise the timeout option if the work needs longer, and do not wait inside a transaction for work that uses the same database outside it.");
    SQLITE_TRANSACTION_ACTIVE = row("sqlite", "transaction_active", "A transaction is open on this database; the call would wait for itself.");
    SQLITE_WRITER_BUSY = row("sqlite", "writer_busy", "SQLite writer is busy because a transaction is already open.");
    SQLITE_FORBIDDEN = row("sqlite", "forbidden", "This statement is not allowed in an actor's database: {reason}");
    SQLITE_TOO_MANY_RESULTS = row("sqlite", "too_many_results", "At most {limit} results can be iterated over at the same time; end or close others first.");
    SQLITE_RESULT_TOO_LARGE = row("sqlite", "result_too_large", "The rows of the answer take more than {limit} bytes; iterate over them, or ask for fewer.");
    SQLITE_TEMPORARY_SPACE_EXCEEDED = row("sqlite", "temporary_space_exceeded", "The statement needs more than {limit} bytes of temporary files; sort or join fewer rows at a time, or add an index.");
    SQLITE_MEMORY_EXCEEDED = row("sqlite", "memory_exceeded", "The statement needs more than {limit} bytes of memory; use smaller values, or fewer at a time.");
    SQLITE_INTERRUPTED = row("sqlite", "interrupted", "The statement was interrupted: {reason}");

    // Messages, protocol, requests.
    MESSAGE_INCOMING_TOO_LONG = row("message", "incoming_too_long", "Incoming message too long").public(400, 400);
    MESSAGE_OUTGOING_TOO_LONG = row("message", "outgoing_too_long", "Outgoing message too long").public(400, 400);
    MESSAGE_INVALID_UTF8 = row("message", "invalid_utf8", "Text message is not valid UTF-8.").http(400).close(1007);
    WS_PROTOCOL_ERROR = row("ws", "protocol_error", "The client broke the WebSocket protocol.").http(400).close(1002);
    /// The process shuts down; another may take over.
    WS_GOING_AWAY = row("ws", "going_away", "The server is going away.").http(503).close(1001).retry();
    PROTOCOL_INVALID_HTTP_REQUEST = row("protocol", "invalid_http_request", "Invalid HTTP request {field}: {reason}");
    PROTOCOL_INVALID_HTTP_RESPONSE = row("protocol", "invalid_http_response", "Invalid HTTP response {field}: {reason}");
    PROTOCOL_INVALID_CONNECT_REQUEST = row("protocol", "invalid_actor_connect_request", "Invalid actor-connect request {field}: {reason}");
    PROTOCOL_INVALID_PERSISTED_DATA = row("protocol", "invalid_persisted_data", "Invalid persisted {label}: {reason}");
    PROTOCOL_UNSUPPORTED_ENCODING = row("protocol", "unsupported_encoding", "Unsupported protocol encoding '{encoding}'.");
    REQUEST_INVALID = row("request", "invalid", "Invalid request: {reason}").http(400);
    CONFIG_ENDPOINT_MISMATCH = row("config", "endpoint_mismatch", "Endpoint mismatch: expected \"{expected}\", received \"{received}\"").http(400);
    CONFIG_NAMESPACE_MISMATCH = row("config", "namespace_mismatch", "Namespace mismatch: expected \"{expected}\", received \"{received}\"").http(400);
    AUTH_FORBIDDEN = row("auth", "forbidden", "Forbidden").public(403, 403);
    USER_ERROR = row("user", "user_error", "User error").public(400, 500);

    // The Node bridge.
    NAPI_INVALID_ARGUMENT = row("napi", "invalid_argument", "Invalid native argument '{argument}': {reason}");
    NAPI_INVALID_STATE = row("napi", "invalid_state", "Invalid native state '{state}': {reason}");

    // Gateway: finding and waking an actor.
    GUARD_NO_ROUTE = row("guard", "no_route", "No route found for hostname {host}, path {path}.").public(404, 404);
    GUARD_MISSING_HEADER = row("guard", "missing_header", "Missing {header} header.").public(400, 400);
    GUARD_INVALID_HEADER = row("guard", "invalid_header", "Invalid {header} header: {detail}").public(400, 400);
    GUARD_QUERY_MISSING_POOL = row("guard", "query_missing_pool", "query gateway method=getOrCreate requires rvt-pool param").public(400, 400);
    GUARD_QUERY_INVALID_PARAMS = row("guard", "query_invalid_params", "Invalid query gateway params: {detail}").public(400, 400);
    GUARD_QUERY_DUPLICATE_PARAM = row("guard", "query_duplicate_param", "Duplicate query gateway param: {name}").public(400, 400);
    GUARD_QUERY_GET_DISALLOWED_PARAMS = row("guard", "query_get_disallowed_params", "query gateway method=get does not take rvt-input, rvt-region, rvt-crash-policy or rvt-runner").public(400, 400);
    GUARD_QUERY_PATH_TOKEN_SYNTAX = row("guard", "query_path_token_syntax", "query gateway paths do not take an @token; use rvt-token").public(400, 400);
    GUARD_QUERY_EMPTY_ACTOR_NAME = row("guard", "query_empty_actor_name", "query gateway actor name is empty").public(400, 400);
    GUARD_QUERY_INVALID_BASE64_INPUT = row("guard", "query_invalid_base64_input", "rvt-input is not base64url: {detail}").public(400, 400);
    GUARD_QUERY_INVALID_CBOR_INPUT = row("guard", "query_invalid_cbor_input", "rvt-input is not CBOR: {detail}").public(400, 400);
    GUARD_QUERY_INVALID_PERCENT_ENCODING = row("guard", "query_invalid_percent_encoding", "{name} is not valid percent-encoded UTF-8").public(400, 400);
    GUARD_ACTOR_READY_TIMEOUT = row("guard", "actor_ready_timeout", "Timed out waiting for actor to become ready. Ensure that the pool selector is accurate and there are envoys available in the namespace you created this actor.").public(503, 503).retry();
    GUARD_ACTOR_WAKE_RETRIES_EXCEEDED = row("guard", "actor_wake_retries_exceeded", "Actor {actor_id} stopped before becoming ready after {wake_retries} wake retries: {reason}.").public(503, 503).retry();
    GUARD_ACTOR_STOPPED_WHILE_WAITING = row("guard", "actor_stopped_while_waiting", "Actor {actor_id} stopped during {phase}.").public(503, 503).retry();
    GUARD_INVALID_REQUEST_BODY = row("guard", "invalid_request_body", "Unable to parse request body: {reason}").public(413, 413);
    GUARD_REQUEST_TIMEOUT = row("guard", "request_timeout", "The request was not received within {timeout_seconds} s.").public(408, 408);
    GUARD_RATE_LIMIT = row("guard", "rate_limit", "Too many connections from {ip}.").public(429, 429).retry();
    GUARD_SERVICE_UNAVAILABLE = row("guard", "service_unavailable", "Service unavailable.").public(503, 503).retry();
    GUARD_WEBSOCKET_NOT_SUPPORTED = row("guard", "websocket_not_supported", "This route does not speak WebSocket.").public(400, 400);
    ENVOY_ACTOR_NOT_FOUND = row("envoy", "actor_not_found", "Actor not found").public(503, 503).retry();
    ENVOY_ACTOR_GENERATION_MISMATCH = row("envoy", "actor_generation_mismatch", "Actor generation does not match").public(503, 503).retry();
    ENVOY_FETCH_FAILED = row("envoy", "fetch_failed", "actor fetch failed").public(500, 500);

    // Endpoint API.
    API_NOT_FOUND = row("api", "not_found", "The requested resource was not found").public(404, 404);
    API_BAD_REQUEST = row("api", "bad_request", "Request is invalid: {reason}").public(400, 400);
    API_UNAUTHORIZED = row("api", "unauthorized", "Authentication required").public(401, 401);
    NAMESPACE_NOT_FOUND = row("namespace", "not_found", "The namespace does not exist.").public(400, 400);
    NAMESPACE_NAME_NOT_UNIQUE = row("namespace", "name_not_unique", "The namespace name is taken.").public(400, 400);
    DATACENTER_NOT_FOUND = row("datacenter", "not_found", "The provided datacenter does not exist.").public(400, 400);
    VALIDATION_INVALID_INPUT = row("validation", "invalid_input", "{message}").public(400, 400);
    VALIDATION_TOO_MANY_ACTOR_IDS = row("validation", "too_many_actor_ids", "Too many actor IDs provided. Maximum is {max}, got {count}").public(400, 400);

    // Inspector.
    INSPECTOR_UNAUTHORIZED = row("inspector", "unauthorized", "Inspector request requires a valid bearer token").http(401).close(1008);
    INSPECTOR_INVALID_REQUEST = row("inspector", "invalid_request", "Invalid inspector request {field}: {reason}").http(400);

    INSPECTOR_INVALID_PROTOCOL_VERSION = row("inspector", "invalid_protocol_version", "Inspector protocol version is not supported").http(400).close(1002);
    INSPECTOR_INIT_ERROR = row("inspector", "init_error", "Inspector could not read the actor");
    INSPECTOR_CUSTOM_TAB_NOT_FOUND = row("inspector", "custom_tab_not_found", "Inspector custom tab id was not registered on this actor").http(404);
    INSPECTOR_CUSTOM_TAB_ASSET_NOT_FOUND = row("inspector", "custom_tab_asset_not_found", "Inspector custom tab has no such file").http(404);
    INSPECTOR_UI_ASSET_NOT_FOUND = row("inspector", "ui_asset_not_found", "Inspector user interface has no such file").http(404);

    // Runtime socket.
    RUNTIME_SOCKET_NOT_ENABLED = row("actor_runtime_socket", "not_enabled", "Experimental Actor Runtime Socket is not enabled for this actor.").public(400, 500);

    // Embedded host: data directory and listener.
    HOST_DATA_DIR_LOCKED = row("host", "data_dir_locked", "The data directory '{path}' is in use by another process (pid {pid}). One process may open a data directory at a time.");
    HOST_DATA_DIR_UNUSABLE = row("host", "data_dir_unusable", "The data directory '{path}' cannot be used: {reason}");
    HOST_PORT_UNAVAILABLE = row("host", "port_unavailable", "Cannot listen on {address}: {reason}");
    ENGINE_PORT_OCCUPIED = row("engine", "port_occupied", "Cannot start engine: endpoint '{endpoint}' is already serving runtime '{runtime}'. Stop that process and retry.");
    ENGINE_INVALID_ENDPOINT = row("engine", "invalid_endpoint", "Engine endpoint '{endpoint}' is invalid: {reason}");
    ENGINE_UNREACHABLE = row("engine", "unreachable", "The engine at '{endpoint}' cannot be reached: {reason}").http(503).retry();
    ENGINE_INCOMPATIBLE = row("engine", "incompatible", "The engine (version {version}) speaks protocol {found} at most, and {needed} is needed. Update the engine.");
    ENGINE_REFUSED = row("engine", "refused", "The engine refused {operation}: {reason}");
    ENGINE_BINARY_UNUSABLE = row("engine", "binary_unusable", "The engine cannot be started: {reason}");
    HOST_STORAGE_FAILED = row("host", "storage_failed", "Storage failed: {reason}");
    REGISTRY_SHUT_DOWN = row("registry", "shut_down", "Registry is shut down; no new requests can be accepted.").http(503);
}

/// Finds the row of a pair, if greenroom has one. Where two rows share a pair
/// (`core/internal_error`), the first wins.
pub fn lookup(group: &str, code: &str) -> Option<&'static Code> {
    ALL.iter()
        .copied()
        .find(|row| row.group == group && row.code == code)
}

/// Exposure and HTTP status of a pair that has no row of its own: codes chosen
/// by users, and codes of groups that are public as a whole.
pub(crate) fn fallback(group: &str) -> (Exposure, u16) {
    match group {
        "user" | "schedule" | "kv" => (Exposure::Public(400), 500),
        "queue" => (Exposure::Private, 400),
        _ => (Exposure::Private, 500),
    }
}
