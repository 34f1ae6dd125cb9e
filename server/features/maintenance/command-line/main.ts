import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { MigrationRefused } from "#prisma/migrate.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { saidLines, visibleText } from "#protocol/base/visible-text.ts";
import { PASSWORD_COST } from "#server/core/accounts/auth/password.ts";
import { receiveSecrets } from "#server/platform/receive-secrets.ts";
import { startFault } from "#server/platform/boxed-message.ts";
import { readCommand } from "./read-command.ts";
import { runHubCommand } from "./run-command.ts";

/** `npm run hub -- COMMAND`: commands for an operator with access to the data folder. Results on stdout, messages on stderr. */

function secretText(name: "TIDEMARK_SECRET" | "TIDEMARK_SECRET_PREVIOUS"): string | null {
  const { [name]: text = "", [`${name}_FILE`]: file = "" } = process.env;
  if (text !== "") return text;
  return file === "" ? null : readFileSync(file, "utf8").trim();
}

async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return "";
}

process.umask(0o077);
try {
  const invocation = readCommand(process.argv.slice(2));
  // Only a hub starts this with a channel, over which its secrets come.
  const handed = process.send === undefined ? {} : await receiveSecrets();
  const around = {
    variables: { ...process.env, ...handed },
    secret: secretText("TIDEMARK_SECRET"),
    previous: secretText("TIDEMARK_SECRET_PREVIOUS"),
    now: Date.now,
    passwordCost: PASSWORD_COST,
    readLine,
    tell: (line: string) => void process.stderr.write(`${visibleText(line)}\n`),
  };
  const { result, text, exitCode } = await runHubCommand(invocation, around);
  const isJson = invocation.switches.has("json") && !invocation.isHelp;
  // A pipe takes 64 KiB at once; what waits behind them would be lost at the exit.
  process.stdout.on("error", () => process.exit(exitCode));
  process.stdout.write(`${isJson ? visibleText(JSON.stringify(result)) : saidLines(text)}\n`, () =>
    process.exit(exitCode),
  );
} catch (error) {
  if (error instanceof MigrationRefused) {
    process.stderr.write(`${error.message} ${error.why} ${error.fix}\n`);
    process.exit(1);
  }
  const fault = startFault(error, { op: "hub" });
  process.stderr.write(`${fault.message}\n`);
  process.exit(FAULTS[fault.code].exit);
}
