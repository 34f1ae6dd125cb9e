/** Version of this package, shown by `tidemark version`, `/healthz` and the UI. */
export const PRODUCT_VERSION = "0.1.0";

/**
 * Version of the protocol between worker and hub. A hub accepts workers from `OLDEST_ACCEPTED_PROTOCOL` up to its own
 * version; the answer to `hello` says which side has to be upgraded.
 */
export const PROTOCOL_VERSION = 1;
export const OLDEST_ACCEPTED_PROTOCOL = 1;
