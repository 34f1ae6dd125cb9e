import { MigrationRefused } from "#prisma/migrate.ts";
import { databaseFailure } from "#prisma/database-failure.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";

/** Explains to the operator why the hub did not start, with the command that fixes it. */

const COMMANDS: Partial<Record<FaultCode, string>> = {
  FOLDER_UNWRITABLE: 'TIDEMARK_DATA=/a/folder/you/own npm start   # or: chown "$USER" the folder',
  FOLDER_IN_USE: "TIDEMARK_DATA=/another/folder npm start",
  PORT_IN_USE: "TIDEMARK_PORT=7141 npm start",
  MASTER_KEY_MISSING: 'TIDEMARK_SECRET="the secret this database was created with" npm start',
  MASTER_KEY_WRONG: 'TIDEMARK_SECRET="the secret this database was created with" npm start',
  MASTER_KEY_WEAK: 'TIDEMARK_SECRET="$(openssl rand -base64 32)" npm start   # keep it: it opens the database',
};

const WIDTH = 96;

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/**
 * Returns the fault that kept the hub or one of its commands from starting. A full disk is reported as such, whatever step it
 * stopped.
 */
export function startFault(error: unknown, { op }: { op: string }): Fault {
  const failure = databaseFailure(error);
  return failure === null ? toFault(error, { op }) : new Fault(failure, { op, cause: error });
}

/** Returns the message and the exit code for an error that kept the hub from starting. */
export function explainStart(error: unknown): { text: string; exitCode: number } {
  const paragraphs: string[][] = [];
  let exitCode = 1;
  if (error instanceof MigrationRefused) paragraphs.push(wrap(error.message), wrap(error.why), wrap(error.fix));
  else {
    const fault = startFault(error, { op: "start" });
    exitCode = FAULTS[fault.code].exit;
    paragraphs.push(wrap(visibleText(sentenceOf(fault.toData()))));
    const command = COMMANDS[fault.code];
    if (command !== undefined) paragraphs.push([`    ${command}`]);
  }
  const lines = ["Tidemark did not start.", "", ...paragraphs.flatMap((lines) => [...lines, ""])].slice(0, -1);
  const width = Math.max(...lines.map((line) => line.length));
  const bar = "─".repeat(width + 2);
  const body = lines.map((line) => `│ ${line.padEnd(width)} │`).join("\n");
  return { text: `┌${bar}┐\n${body}\n└${bar}┘\n`, exitCode };
}
