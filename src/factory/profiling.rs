//! Options of SQL profiling. They are checked, and have no effect yet.

use greenroom_error::{Error, Result};
use napi_derive::napi;

use crate::numbers;

#[napi(object)]
pub struct JsSqliteProfilingConfig {
    pub enabled: Option<bool>,
    pub max_tracked_statement_fingerprints: Option<f64>,
    pub max_tracked_transaction_fingerprints: Option<f64>,
    pub max_prometheus_series: Option<f64>,
    /// At most 32.
    pub max_statements_per_transaction_trace: Option<f64>,
    /// At most 16.
    pub max_get_pages_requests_per_trace: Option<f64>,
    /// More than 0.
    pub max_transaction_name_bytes: Option<f64>,
    pub slow_operation_threshold_ms: Option<f64>,
    /// From 0 to 1.
    pub baseline_sample_rate: Option<f64>,
    pub max_diagnostic_events_per_minute: Option<f64>,
    pub diagnostic_event_queue_capacity: Option<f64>,
}

impl JsSqliteProfilingConfig {
    pub(super) fn check(&self) -> Result<()> {
        let counts = [
            (
                "maxTrackedStatementFingerprints",
                self.max_tracked_statement_fingerprints,
            ),
            (
                "maxTrackedTransactionFingerprints",
                self.max_tracked_transaction_fingerprints,
            ),
            ("maxPrometheusSeries", self.max_prometheus_series),
            (
                "maxStatementsPerTransactionTrace",
                self.max_statements_per_transaction_trace,
            ),
            (
                "maxGetPagesRequestsPerTrace",
                self.max_get_pages_requests_per_trace,
            ),
            ("maxTransactionNameBytes", self.max_transaction_name_bytes),
            ("slowOperationThresholdMs", self.slow_operation_threshold_ms),
            (
                "maxDiagnosticEventsPerMinute",
                self.max_diagnostic_events_per_minute,
            ),
            (
                "diagnosticEventQueueCapacity",
                self.diagnostic_event_queue_capacity,
            ),
        ];
        for (name, given) in counts {
            let count = given.map(|count| numbers::count(name, count)).transpose()?;
            let problem = match (name, count) {
                ("maxStatementsPerTransactionTrace", Some(33..)) => "must be at most 32",
                ("maxGetPagesRequestsPerTrace", Some(17..)) => "must be at most 16",
                ("maxTransactionNameBytes", Some(0)) => "must be greater than 0",
                _ => continue,
            };
            return Err(Error::internal(format!(
                "SQLite profiling {name} {problem}"
            )));
        }
        match self.baseline_sample_rate {
            Some(rate) if !(0.0..=1.0).contains(&rate) => Err(Error::internal(
                "SQLite profiling baselineSampleRate must be between 0 and 1",
            )),
            _ => Ok(()),
        }
    }
}
