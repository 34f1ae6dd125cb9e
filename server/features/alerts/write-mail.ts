import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { recipientsOf, type ChannelSecret } from "#protocol/alerts/channel-kinds.ts";

/** A message as a plain-text mail. Text from nodes stands only in the subject and the body, never in an address. */
export interface OutgoingMail {
  from: string;
  to: string[];
  subject: string;
  text: string;
  /** The same at every try, so that a mail that arrives twice is shown once. */
  messageId: string;
  /** The same for all mails of a rule, so that mail clients show them as one thread. */
  references: string;
  priority: "high" | "normal";
}

interface Writing {
  id: string;
  message: AlertMessage;
  secret: ChannelSecret;
  incident: string;
}

const MOST_SUBJECT = 200;

export function writeMail({ id, message, secret, incident }: Writing): OutgoingMail {
  const domain = secret.from.slice(secret.from.lastIndexOf("@") + 1);
  const state = message.kind === "firing" ? message.severity : message.kind;
  return {
    from: secret.from,
    to: recipientsOf(secret.to),
    subject: `[${state}] ${message.title}`.slice(0, MOST_SUBJECT),
    text: [
      message.title,
      ...(message.lines.length === 0 ? [] : ["", ...message.lines]),
      "",
      message.todo,
      message.link,
      "",
      `${message.rule} · ${message.severity}`,
      "",
    ].join("\n"),
    messageId: `<${id}@${domain}>`,
    references: `<${incident}@${domain}>`,
    priority: message.kind === "firing" && message.severity === "critical" ? "high" : "normal",
  };
}
