/** Statuses whose responses have no body by definition, and with which a `Response` takes none. */
export const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);
