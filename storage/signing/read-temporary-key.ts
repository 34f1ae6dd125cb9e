import { Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { errorDocument, faultOfAnswer, type HttpAnswer } from "../answers/faults.ts";
import type { Credential } from "./sigv4.ts";
import { childrenOf, parseXml, textOf } from "../answers/xml.ts";

/** Codes that a Security Token Service answers itself. Stores without one misread the call and answer with other codes. */
const OF_THE_SERVICE: ReadonlySet<FaultCode> = new Set([
  "ACCESS_DENIED",
  "BAD_CREDENTIALS",
  "CREDENTIALS_EXPIRED",
  "CLOCK_SKEW",
  "THROTTLED",
  "STORE_UNAVAILABLE",
  "INTERCEPTED",
]);

/**
 * Returns the key in an answer to `op` (AssumeRole, GetFederationToken).
 * @throws Fault of the answer when it holds no key; UNSUPPORTED where the store has no such service
 */
export function readTemporaryKey(
  answer: HttpAnswer,
  about: { op: string; subject: string },
): Credential & { sessionToken: string } {
  const refuse = (): Fault => {
    const fault = faultOfAnswer({ ...about, answer });
    if (answer.status === 200) return fault;
    if (OF_THE_SERVICE.has(fault.code)) return withWords(fault, answer);
    const { detail = `HTTP ${answer.status}` } = fault.context;
    return new Fault("UNSUPPORTED", { ...about, status: answer.status, detail });
  };
  if (answer.status !== 200 || errorDocument(answer.body) !== null) throw refuse();
  const parsed = parseXml(answer.body);
  const result = parsed?.root === `${about.op}Response` ? childrenOf(parsed.element, `${about.op}Result`) : [];
  const [key = {}] = result.flatMap((element) => childrenOf(element, "Credentials"));
  const accessKeyId = textOf(key, "AccessKeyId");
  const secretAccessKey = textOf(key, "SecretAccessKey");
  const sessionToken = textOf(key, "SessionToken");
  if (!accessKeyId || !secretAccessKey || !sessionToken) throw refuse();
  const endsAt = Date.parse(textOf(key, "Expiration") ?? "");
  return { accessKeyId, secretAccessKey, sessionToken, ...(Number.isNaN(endsAt) ? {} : { endsAt }) };
}

/** Adds the service's message to the Fault: only the message names the missing permission and the role. */
function withWords(fault: Fault, answer: HttpAnswer): Fault {
  const element = errorDocument(answer.body);
  const words = element === null ? undefined : textOf(element, "Message");
  const { detail = "" } = fault.context;
  if (words === undefined || words === "" || detail.includes(words)) return fault;
  return new Fault(fault.code, { ...fault.context, detail: [detail, words.slice(0, 300)].filter(Boolean).join(": ") });
}
