// Headlines between the output of the tools, so that a reader sees how far it is.

export function seconds(since) {
  const spent = (performance.now() - since) / 1000;
  return spent < 60 ? `${spent.toFixed(1)} s` : `${Math.floor(spent / 60)} min ${Math.round(spent % 60)} s`;
}

/** Announces `title`, does the work and tells how long it took. */
export async function step(title, work) {
  console.log(`\n▸ ${title}`);
  const since = performance.now();
  const result = await work();
  console.log(`  ${title}: ${seconds(since)}`);
  return result;
}
