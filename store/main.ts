/** The store as a program: prints one ready line, ends on SIGTERM or SIGINT, and explains in one sentence why it cannot start. */
import { resolve } from "node:path";
import { readConfig, type StoreConfig } from "./config.ts";
import { startStore } from "./server.ts";

const SQLITE_BUSY = 5;
const FOLDER_CODES = new Set<unknown>(["EACCES", "EROFS", "ENOTDIR", "EEXIST", "ENOENT", "ENOSPC"]);

/** Returns the fields of system errors and SQLite errors. */
function fieldsOf(error: unknown): { readonly code?: unknown; readonly errcode?: unknown; readonly syscall?: unknown } {
  return typeof error === "object" && error !== null ? error : {};
}

function explain(error: unknown, config: StoreConfig): string {
  const { code, errcode, syscall } = fieldsOf(error);
  const folder = resolve(config.dataFolder);
  if (syscall === "listen") {
    if (code === "EADDRINUSE") {
      return `Port ${config.port} on ${config.host} is in use. Stop what uses it, or give another --port (0 chooses a free one).`;
    }
    if (code === "EACCES") return `Port ${config.port} may not be used by this account. Give a --port above 1023.`;
    return `${config.host} cannot be listened on (${String(code)}). Give an address of this machine as --host.`;
  }
  if (errcode === SQLITE_BUSY) {
    return `The folder ${folder} is used by another store. Stop it, or give another --data folder.`;
  }
  if (FOLDER_CODES.has(code)) {
    return `The folder ${folder} cannot be written (${String(code)}). Give --data a folder this account may write, with free space.`;
  }
  return `The store cannot start: ${error instanceof Error ? error.message : String(error)}`;
}

const result = readConfig(process.argv.slice(2));
if ("problem" in result) {
  console.error(result.problem);
  process.exit(2);
}
const { config } = result;
try {
  const store = await startStore(config, {
    nowMs: Date.now,
    report: (error) => console.error(error instanceof Error ? error.stack : String(error)),
  });
  console.log(JSON.stringify({ ready: true, port: store.port, endpoint: store.endpoint }));
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    store.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
} catch (error) {
  console.error(explain(error, config));
  process.exit(1);
}
