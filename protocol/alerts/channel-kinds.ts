/**
 * Every kind of alert channel with its fields. The hub's parser, the address guard, the form and docs/alerts.md all use this
 * table. A new kind needs a row here and a writer in `storage/webhooks/write-request.ts`. Imports no zod, because
 * pages load this file.
 */

export const CHANNEL_FIELDS = ["url", "key", "host", "port", "tls", "user", "password", "from", "to"] as const;
export type ChannelFieldName = (typeof CHANNEL_FIELDS)[number];
/** Write-only: everything that a channel needs to send. Fields that its kind does not use are empty. */
export type ChannelSecret = Readonly<Record<ChannelFieldName, string>>;

interface FieldRow {
  name: ChannelFieldName;
  label: string;
  hint?: string;
  placeholder?: string;
  isRequired: boolean;
  /** Input in the form: visible text, hidden text, or a choice of values. */
  look: "text" | "secret" | readonly { value: string; label: string }[];
  /** Value of a field that is left empty. */
  usual?: string;
  /** Returns what is wrong with a non-empty value, or null. */
  problem: (value: string) => string | null;
}

interface ChannelKindRow {
  label: string;
  /** `http`: requests to `url`. `smtp`: mail through `host`. */
  transport: "http" | "smtp";
  fields: readonly FieldRow[];
}

const LEAST_SIGNING_KEY = 16;
const MOST_RECIPIENTS = 20;

function urlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return "an address looks like https://hooks.example.com/services/…";
  }
  const isBare = url.username === "" && url.password === "" && url.hash === "";
  return isBare ? null : "an address has no name, password or fragment in it";
}

const keyProblem = (text: string): string | null =>
  /^[\x21-\x7e]{1,512}$/.test(text) ? null : "a key has no spaces and only plain characters";
const signingKeyProblem = (text: string): string | null =>
  text.length < LEAST_SIGNING_KEY
    ? `a webhook needs a key of at least ${LEAST_SIGNING_KEY} characters`
    : keyProblem(text);
const topicProblem = (text: string): string | null =>
  urlProblem(text) ??
  (/^(\/[^/]+)*\/[A-Za-z0-9_-]{1,64}$/.test(new URL(text).pathname)
    ? null
    : "the address of an ntfy topic looks like https://ntfy.sh/my-topic");
const hostProblem = (text: string): string | null =>
  /^(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.|$))+$/.test(text) || /^\[?[0-9a-fA-F:.]+\]?$/.test(text)
    ? null
    : "a host looks like smtp.example.com";
const portProblem = (text: string): string | null =>
  /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535 ? null : "a port is a number from 1 to 65535";
const anyProblem = (text: string): string | null =>
  /[\u0000-\u001f\u007f]/.test(text) ? "it has no control characters" : null;

/** Returns whether `text` is one mailbox without a display name: no quotes, commas or other special characters of headers. */
const isMailbox = (text: string): boolean =>
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(text);
const fromProblem = (text: string): string | null =>
  isMailbox(text) ? null : "an e-mail address looks like tidemark@example.com";
export const recipientsOf = (text: string): string[] =>
  text
    .split(/[\s,;]+/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
function toProblem(text: string): string | null {
  const all = recipientsOf(text);
  if (all.length > MOST_RECIPIENTS) return `there are ${MOST_RECIPIENTS} addresses at most`;
  const wrong = all.find((one) => !isMailbox(one));
  if (all.length === 0 || wrong !== undefined) return "addresses look like ops@example.com, night@example.com";
  return null;
}

const address = (placeholder: string): FieldRow => ({
  name: "url",
  label: "Address",
  placeholder,
  isRequired: true,
  look: "text",
  problem: urlProblem,
});

/** Returns the field for the address of a service that has one address for all customers, or one for each region. */
const endpoint = (usual: string, other: string): FieldRow => ({
  name: "url",
  label: "Address",
  hint: `Empty: ${usual}. In Europe: ${other}.`,
  placeholder: usual,
  isRequired: false,
  look: "text",
  usual,
  problem: urlProblem,
});

const secretKey = (label: string, hint: string): FieldRow => ({
  name: "key",
  label,
  hint,
  isRequired: true,
  look: "secret",
  problem: keyProblem,
});

export const TLS_MODES = [
  { value: "starttls", label: "STARTTLS (587)" },
  { value: "tls", label: "TLS from the start (465)" },
  { value: "none", label: "None (25)" },
] as const;
const TLS_PORTS: Readonly<Record<string, string>> = { starttls: "587", tls: "465", none: "25" };

export const CHANNEL_KINDS = {
  slack: { label: "Slack", transport: "http", fields: [address("https://hooks.slack.com/services/…")] },
  discord: { label: "Discord", transport: "http", fields: [address("https://discord.com/api/webhooks/…")] },
  ntfy: {
    label: "ntfy",
    transport: "http",
    fields: [
      { ...address("https://ntfy.sh/my-topic"), problem: topicProblem },
      { ...secretKey("Token", "Access token, if the topic needs one."), isRequired: false },
    ],
  },
  webhook: {
    label: "Webhook",
    transport: "http",
    fields: [
      address("https://example.com/hook"),
      {
        ...secretKey("Key", `At least ${LEAST_SIGNING_KEY} characters. Every message is signed with it (HMAC-SHA256).`),
        problem: signingKeyProblem,
      },
    ],
  },
  email: {
    label: "E-mail",
    transport: "smtp",
    fields: [
      {
        name: "host",
        label: "Mail server",
        placeholder: "smtp.example.com",
        isRequired: true,
        look: "text",
        problem: hostProblem,
      },
      { name: "tls", label: "TLS", isRequired: false, look: TLS_MODES, usual: "starttls", problem: tlsProblem },
      {
        name: "port",
        label: "Port",
        hint: "Empty: the usual one of the TLS mode.",
        isRequired: false,
        look: "text",
        problem: portProblem,
      },
      {
        name: "user",
        label: "User",
        hint: "Empty where the server asks for none.",
        isRequired: false,
        look: "text",
        problem: anyProblem,
      },
      { name: "password", label: "Password", isRequired: false, look: "secret", problem: anyProblem },
      {
        name: "from",
        label: "From",
        placeholder: "tidemark@example.com",
        isRequired: true,
        look: "text",
        problem: fromProblem,
      },
      {
        name: "to",
        label: "To",
        hint: `Up to ${MOST_RECIPIENTS} addresses, with commas between them.`,
        placeholder: "ops@example.com",
        isRequired: true,
        look: "text",
        problem: toProblem,
      },
    ],
  },
  pagerduty: {
    label: "PagerDuty",
    transport: "http",
    fields: [
      secretKey("Integration key", "Of an Events API v2 integration of the service."),
      endpoint("https://events.pagerduty.com/v2/enqueue", "https://events.eu.pagerduty.com/v2/enqueue"),
    ],
  },
  opsgenie: {
    label: "Opsgenie",
    transport: "http",
    fields: [
      secretKey("API key", "Of an API integration of the team."),
      endpoint("https://api.opsgenie.com", "https://api.eu.opsgenie.com"),
    ],
  },
} as const satisfies Record<string, ChannelKindRow>;
export type ChannelKind = keyof typeof CHANNEL_KINDS;

export const CHANNEL_KIND_NAMES = Object.keys(CHANNEL_KINDS) as ChannelKind[];
export const isChannelKind = (text: string): text is ChannelKind => Object.hasOwn(CHANNEL_KINDS, text);
export const channelKind = (kind: ChannelKind): ChannelKindRow => CHANNEL_KINDS[kind];

function tlsProblem(text: string): string | null {
  return TLS_MODES.some(({ value }) => value === text) ? null : "it is starttls, tls or none";
}

/** Returns the fields of the kind, trimmed, with the usual values for empty fields. Fields of other kinds are empty. */
export function wholeSecret(kind: ChannelKind, typed: Partial<ChannelSecret>): ChannelSecret {
  const of = (name: ChannelFieldName): string => {
    const row = channelKind(kind).fields.find((field) => field.name === name);
    if (row === undefined) return "";
    // A password may begin or end with a space.
    const value = name === "password" ? (typed[name] ?? "") : (typed[name] ?? "").trim();
    return value === "" ? (row.usual ?? "") : value;
  };
  const whole = Object.fromEntries(CHANNEL_FIELDS.map((name) => [name, of(name)])) as Record<ChannelFieldName, string>;
  if (channelKind(kind).transport === "smtp" && whole.port === "") whole.port = TLS_PORTS[whole.tls] ?? "25";
  return whole;
}

/** Returns what is wrong with the typed values, by field; empty when nothing is. */
export function secretProblems(
  kind: ChannelKind,
  typed: Partial<ChannelSecret>,
): Partial<Record<ChannelFieldName, string>> {
  const whole = wholeSecret(kind, typed);
  const problems: Partial<Record<ChannelFieldName, string>> = {};
  for (const { name, label, isRequired, problem } of channelKind(kind).fields) {
    const value = whole[name];
    const wrong = value !== "" ? problem(value) : isRequired ? `${label} is missing` : null;
    if (wrong !== null) problems[name] = wrong;
  }
  if (whole.user === "" && whole.password !== "") problems.user ??= "a password needs a user";
  return problems;
}

/** Returns the host that a channel sends to; pages show it in place of the address. */
export const hintOf = (kind: ChannelKind, secret: ChannelSecret): string =>
  channelKind(kind).transport === "smtp" ? `${secret.host}:${secret.port}` : new URL(secret.url).host;
