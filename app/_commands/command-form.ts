import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { MoveDirection, NodeCommand } from "#protocol/wire/command-shapes.ts";
import { parseDuration, parseRate } from "#protocol/wire/read-units.ts";
import { runName } from "#protocol/base/names.ts";

/** Commands that a person can send to nodes, and their form. */

export type CommandKind = NodeCommand["kind"];
type Field = "run" | "direction" | "rates" | "priority" | "grace";

export interface CommandChoice {
  kind: CommandKind;
  title: string;
  /** Effect of the command, and when it ends. */
  about: string;
  fields: readonly Field[];
  /** `hard` marks commands that cannot be undone. */
  effect: "soft" | "hard";
}

export const COMMANDS: readonly CommandChoice[] = [
  {
    kind: "hold",
    title: "Pause",
    about: "Pauses present and later transfers until you resume. Checkpoints are still captured.",
    fields: ["run", "direction"],
    effect: "soft",
  },
  {
    kind: "release",
    title: "Resume",
    about: "Resumes paused transfers. Resuming everything also ends a drain.",
    fields: ["run", "direction"],
    effect: "soft",
  },
  {
    kind: "limit",
    title: "Limit bandwidth",
    about: "In effect from now on, also after a restart. “none” removes a limit; an empty field keeps the present one.",
    fields: ["rates"],
    effect: "soft",
  },
  {
    kind: "priority",
    title: "Set priority",
    about: "Whose uploads go first when several runs wait.",
    fields: ["run", "priority"],
    effect: "soft",
  },
  {
    kind: "flush",
    title: "Upload now",
    about: "Captures what is finished now and ends when it is safe.",
    fields: ["run"],
    effect: "soft",
  },
  {
    kind: "retry-uploads",
    title: "Retry failed uploads",
    about: "Queues failed uploads again; parts already sent are kept.",
    fields: ["run"],
    effect: "soft",
  },
  {
    kind: "cancel-uploads",
    title: "Cancel uploads",
    about:
      "Cancels every upload that is not safe yet. The program's own files stay, and later checkpoints are uploaded.",
    fields: ["run"],
    effect: "hard",
  },
  {
    kind: "probe",
    title: "Measure the link",
    about: "Up and down against its bucket, with the engine that moves checkpoints. Takes about 20 s of the link.",
    fields: [],
    effect: "soft",
  },
  {
    kind: "drain",
    title: "Drain",
    about: "Uploads everything captured and captures no more until you resume. For a node that will be removed.",
    fields: [],
    effect: "soft",
  },
  {
    kind: "stop",
    title: "Stop the worker",
    about:
      "Asks the program of the worker to end. Checkpoints that are not safe after the grace time stay on the node.",
    fields: ["grace"],
    effect: "hard",
  },
  {
    kind: "reallocate",
    title: "Give the machine back",
    about: "Uploads for as long as the grace lasts, then asks the platform for another machine, if the hub allows it.",
    fields: ["grace"],
    effect: "hard",
  },
];

export interface CommandForm {
  kind: CommandKind;
  /** Empty for all runs of the node. */
  run: string;
  direction: MoveDirection;
  up: string;
  down: string;
  priority: "low" | "normal" | "high";
  grace: string;
}

export const NEW_COMMAND: CommandForm = {
  kind: "hold",
  run: "",
  direction: "both",
  up: "",
  down: "",
  priority: "high",
  grace: "60s",
};

export type CommandRead = { order: NodeCommand } | { field: "run" | "up" | "down" | "grace"; error: string };

/** Parses a limit. Empty text keeps the current limit; "none" is rate 0. */
function limitOf(text: string): { rate?: number } | { error: string } {
  const word = text.trim().toLowerCase();
  if (word === "") return {};
  if (word === "none" || word === "off") return { rate: 0 };
  try {
    return { rate: Math.round(parseRate(text)) };
  } catch (error) {
    return { error: sentenceOf(toFault(error, { op: "limit" }).toData()) };
  }
}

/** Returns the command of a form, or the first invalid field with its error. */
export function readCommand(form: CommandForm): CommandRead {
  const named = form.run === "" ? null : runName.safeParse(form.run);
  if (named?.success === false) return { field: "run", error: "There is no run of this name." };
  const run = named === null ? null : named.data;
  switch (form.kind) {
    case "hold":
    case "release":
      return { order: { kind: form.kind, run, direction: form.direction } };
    case "limit": {
      const [up, down] = [limitOf(form.up), limitOf(form.down)];
      if ("error" in up) return { field: "up", error: up.error };
      if ("error" in down) return { field: "down", error: down.error };
      if (up.rate === undefined && down.rate === undefined) {
        return { field: "up", error: "Say a limit up, down, or both: 20Mbit, 2.5MB/s, or none." };
      }
      return {
        order: {
          kind: "limit",
          until: null,
          ...(up.rate === undefined ? {} : { up: up.rate }),
          ...(down.rate === undefined ? {} : { down: down.rate }),
        },
      };
    }
    case "priority":
      if (run === null) return { field: "run", error: "Choose the run." };
      return { order: { kind: "priority", run, priority: form.priority } };
    case "flush":
      return { order: { kind: "flush", run, timeoutMs: null } };
    case "retry-uploads":
    case "cancel-uploads":
      return { order: { kind: form.kind, run } };
    case "probe":
    case "drain":
      return { order: { kind: form.kind } };
    case "stop":
    case "reallocate": {
      try {
        const graceMs = parseDuration(form.grace);
        if (graceMs > 86_400_000) return { field: "grace", error: "A grace is a day at most." };
        if (form.kind === "stop") return { order: { kind: "stop", graceMs } };
        return { order: { kind: "reallocate", graceMs, reason: "asked for by an operator" } };
      } catch (error) {
        return { field: "grace", error: sentenceOf(toFault(error, { op: "grace" }).toData()) };
      }
    }
  }
}

/** Quotes a text for a shell, in single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns the command as a curl call, with an API token in `$TOKEN`. */
export function commandCurl(order: NodeCommand, to: { nodeIds: readonly string[]; hubUrl: string }): string {
  const body = JSON.stringify({ requestId: "REQUEST", to: { nodeIds: to.nodeIds }, order });
  // A new request id per execution, because a repeated id would be ignored as a duplicate.
  const fresh = quoted(body).replace("REQUEST", `'"$(openssl rand -hex 16)"'`);
  return [
    `curl -s -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
    `  -d ${fresh} \\`,
    `  ${quoted(`${to.hubUrl}/api/trpc/commands.send`)}`,
  ].join("\n");
}
