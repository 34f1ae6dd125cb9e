import { KEYED, READS_BUCKET, STANDALONE } from "./command-groups.ts";
import type { FlagSpec } from "./flag-spec.ts";

/** Commands that open connections. */
const CONNECTING = [...STANDALONE, "work", "jobs", ...KEYED, ...READS_BUCKET] as const;

/** Flags about proxies and certificate authorities; part of `FLAGS`. */
export const NETWORK_FLAGS = {
  proxy: {
    kind: "secret",
    commands: CONNECTING,
    value: "URL",
    says: "Proxy for every connection: http://, https:// or socks5://, with USER:PASSWORD@ if it requires them. HTTPS_PROXY, HTTP_PROXY and ALL_PROXY when left out.",
  },
  "no-proxy": {
    kind: "text",
    commands: CONNECTING,
    value: "LIST",
    says: "Destinations without the proxy: hosts, domains, addresses or CIDR ranges, each optionally with :PORT, or * for all. Default: NO_PROXY.",
  },
  ca: {
    kind: "list",
    commands: CONNECTING,
    value: "FILE",
    says: "File of further trusted certificate authorities, PEM. May be given several times. SSL_CERT_FILE, AWS_CA_BUNDLE and NODE_EXTRA_CA_CERTS also apply.",
  },
} as const satisfies Record<string, FlagSpec>;
