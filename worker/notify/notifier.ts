import { randomUUID } from "node:crypto";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { networkFetch } from "#storage/network/fetch.ts";
import { writeRequests, type OutgoingRequest } from "#storage/webhooks/write-request.ts";
import type { Clock } from "../base/clock.ts";
import type { NotifyChannel } from "./read-notify.ts";

/** Sends messages to one channel, in order. Messages are kept in memory only. */
export interface Notifier {
  send(message: AlertMessage): void;
  /** Resolves when every message was delivered or given up. No faults. */
  idle(): Promise<void>;
}

export interface NotifierParts {
  channel: NotifyChannel;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the fault of a message that was not delivered: once at its first try, and when it is given up. */
  onTrouble(fault: Fault): void;
}

const ANSWER_MS = 10_000;
/** Twelve tries take about 70 minutes. */
const TRIES = 12;
const FIRST_WAIT_MS = 2_000;
const MOST_WAIT_MS = 600_000;
/** A channel that is down for long must not fill the memory: the oldest messages are dropped. */
const MOST_WAITING = 100;
/** Status codes after which another try may succeed. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

export function createNotifier(parts: NotifierParts): Notifier {
  const { clock, signal, onTrouble } = parts;
  const waiting: { id: string; message: AlertMessage }[] = [];
  let current: Promise<void> | null = null;

  const deliverAll = async () => {
    try {
      await deliverWaiting();
    } finally {
      // In the same moment as the queue was seen to be empty: a message that comes later starts anew.
      current = null;
    }
  };
  const deliverWaiting = async () => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
      for (let tries = 1; tries <= TRIES && !signal.aborted; tries++) {
        try {
          await deliver(parts, next);
          break;
        } catch (error) {
          const fault = toFault(error, { op: "--notify" });
          if (signal.aborted) return;
          const isOver = !isFault(error) || fault.code === "CHANNEL_REFUSED" || tries === TRIES;
          if (isOver || tries === 1) onTrouble(fault);
          if (isOver) break;
          await clock.sleep(Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1)), signal).catch(() => undefined);
        }
      }
    }
  };

  return {
    send: (message) => {
      waiting.push({ id: randomUUID(), message });
      if (waiting.length > MOST_WAITING) waiting.shift();
      current ??= deliverAll();
    },
    idle: async () => {
      await current;
    },
  };
}

/** @throws Fault CHANNEL_REFUSED (another try would not help), CHANNEL_UNREACHABLE */
async function deliver(
  { channel, signal }: Pick<NotifierParts, "channel" | "signal">,
  { id, message }: { id: string; message: AlertMessage },
): Promise<void> {
  const { kind, secret } = channel;
  for (const request of writeRequests(kind, { id, message, secret, incident: message.rule, now: Date.now() })) {
    await post(request, signal);
  }
}

/** Sends one request and follows no redirect. Faults name the host only, because the rest of the address is a secret. */
async function post({ url, headers, body }: OutgoingRequest, closing: AbortSignal): Promise<void> {
  const subject = new URL(url).host;
  const signal = AbortSignal.any([closing, AbortSignal.timeout(ANSWER_MS)]);
  const asked = {
    method: "POST",
    headers: { ...headers, "user-agent": "Tidemark" },
    body,
    signal,
    redirect: "manual",
  } as const;
  const answer = await networkFetch(url, asked).catch(() => {
    throw new Fault("CHANNEL_UNREACHABLE", { subject, detail: "the connection failed, or nothing answered in time" });
  });
  await answer.body?.cancel().catch(() => undefined);
  if (answer.status >= 200 && answer.status < 300) return;
  const code = PASSING.has(answer.status) ? "CHANNEL_UNREACHABLE" : "CHANNEL_REFUSED";
  throw new Fault(code, { subject, status: answer.status, detail: `HTTP ${answer.status}` });
}
