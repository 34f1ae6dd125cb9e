import { Socket } from "node:net";
import { join } from "node:path";
import { format, stripVTControlCharacters } from "node:util";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { explainStart } from "../platform/boxed-message.ts";
import { receiveSecrets } from "../platform/receive-secrets.ts";
import { startUpkeep } from "./schedule.ts";
import { PASSWORD_COST } from "../core/accounts/auth/password.ts";
import { readSettings } from "../platform/env.ts";
import { createLog, withoutSecrets, type Log } from "../platform/log.ts";
import { connectSigner } from "../signer/connect-signer.ts";
import { openHub } from "./open-hub.ts";
import { openPages } from "./pages.ts";
import { serve } from "./serve.ts";

/**
 * Main module of the hub's process: HTTP, tRPC, pages and database. The launcher starts it with a pipe to the signer and an
 * environment without the master key. It exits when the launcher does.
 */

const LOCK_WAIT_MS = 3_000;
const PORT_WAIT_MS = 3_000;
const GRACE_MS = 3_500;
const ROOT = join(import.meta.dirname, "../..");

const printSetupCode = (code: string): void => {
  process.stdout.write(
    `\nThis hub has no account yet. Create the first one with this setup code (good for an hour):\n`,
  );
  process.stdout.write(`\n    ${code}\n\n`);
};

/** Redirects what libraries print into the log: stdout is for the hub's own few lines. */
function logTheConsole(log: Log): void {
  const say =
    (level: "info" | "warn" | "error") =>
    (...parts: unknown[]) =>
      log[level]({ said: withoutSecrets(stripVTControlCharacters(format(...parts))) }, "a library printed");
  Object.assign(console, { log: say("info"), info: say("info"), warn: say("warn"), error: say("error") });
}

async function start(): Promise<void> {
  const settings = readSettings({ ...process.env, ...(await receiveSecrets()) });
  setNetwork(readNetwork({ env: process.env }));
  process.umask(0o077);
  const log = createLog(settings.logLevel);
  logTheConsole(log);
  process.on("unhandledRejection", (error) => log.error({ error }, "an unhandled rejection"));
  const signer = connectSigner(new Socket({ fd: 3, readable: true, writable: true }));
  const { hub, startClosing, close } = await openHub({
    settings,
    signer,
    log,
    now: Date.now,
    passwordCost: PASSWORD_COST,
    printSetupCode,
    lockWaitMs: LOCK_WAIT_MS,
    onTaken: (fault) => {
      log.error({ fault: fault.toData() }, "another hub has taken over, so this one ends");
      process.exit(FAULTS[fault.code].exit);
    },
  });
  const pages = await openPages(hub, ROOT);
  const served = await serve(hub, pages.serve, PORT_WAIT_MS);
  const upkeep = startUpkeep(hub);
  let isEnding = false;
  const end = async (): Promise<void> => {
    if (isEnding) return;
    isEnding = true;
    startClosing();
    await served.close(GRACE_MS);
    await upkeep.stop();
    await close();
    process.exit(0);
  };
  process.on("SIGTERM", () => void end());
  process.on("SIGINT", () => void end());
  hub.setupCode.offer();
  hub.history.reader.start();
  process.send?.({ type: "ready", url: settings.publicUrl?.origin ?? served.url, listensAt: served.url });
}

process.on("disconnect", () => process.exit(1));
try {
  await start();
} catch (error) {
  const { text, exitCode } = explainStart(error);
  process.stderr.write(text);
  process.exit(exitCode);
}
