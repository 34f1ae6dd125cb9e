import { CHANNEL_KINDS, type ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import { usage } from "../command-line/command-context.ts";

/** Kinds of channel that need no more than an address and at most a key. */
const KINDS = ["slack", "discord", "ntfy", "webhook"] as const;
type NotifyKind = (typeof KINDS)[number];

/** Where `--notify` sends messages. The address is a secret. */
export interface NotifyChannel {
  kind: NotifyKind;
  secret: ChannelSecret;
}

const HOSTS: readonly (readonly [host: RegExp, kind: NotifyKind])[] = [
  [/(^|\.)slack\.com$/, "slack"],
  [/(^|\.)discord(app)?\.com$/, "discord"],
  [/(^|\.)ntfy\.sh$/, "ntfy"],
];

const EMPTY: ChannelSecret = {
  url: "",
  key: "",
  host: "",
  port: "",
  tls: "",
  user: "",
  password: "",
  from: "",
  to: "",
};

/**
 * Reads `--notify`: an address, or `KIND:address` for a host that does not tell the kind. `key`: signs a webhook, or is the
 * token of an ntfy server. @throws Fault BAD_INPUT, which does not name the address
 */
export function readNotify(text: string, key: string | null): NotifyChannel {
  const [, named, rest] = /^([a-z]+):(https?:\/\/.+)$/.exec(text) ?? [];
  const url = URL.parse(rest ?? text);
  const kind =
    KINDS.find((one) => one === named) ?? HOSTS.find(([host]) => host.test(url?.hostname ?? ""))?.[1] ?? "webhook";
  if (named !== undefined && kind !== named) throw usage("--notify", `the kinds are ${KINDS.join(", ")}`);
  const secret = { ...EMPTY, url: rest ?? text, key: key ?? "" };
  for (const { name, problem } of CHANNEL_KINDS[kind].fields) {
    const value = secret[name];
    const why = value === "" && name !== "url" ? null : problem(value);
    if (why !== null) throw usage(name === "key" ? "--notify-key" : "--notify", why);
  }
  return { kind, secret };
}
