// The little arithmetic of the figures.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three significant digits, with thousands set apart. */
export function figure(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** Calls `once` `total` times, `inFlight` at a time, and gives the calls per second. */
export async function rate(once, total, inFlight) {
  let left = total;
  const worker = async () => {
    while (left-- > 0) await once();
  };
  const since = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return total / ((performance.now() - since) / 1000);
}
