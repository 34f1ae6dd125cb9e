/** The store as a program: prints one ready line, ends on SIGTERM or SIGINT, and says in one sentence why it cannot start. */
import { resolve } from "node:path";
import { readConfig, type StoreConfig } from "./config.ts";
import { startStore } from "./server.ts";

function explain(error: unknown, config: StoreConfig): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const folder = resolve(config.dataFolder);
  if (code === "EADDRINUSE")
    return `Port ${config.port} on ${config.host} is in use. Stop what uses it, or give another --port (0 chooses a free one).`;
  if (code === "EACCES" && message.includes("listen"))
    return `Port ${config.port} may not be used by this account. Give a --port above 1023.`;
  if (code === "EADDRNOTAVAIL") return `The address ${config.host} is not one of this machine. Give another --host.`;
  if (message.includes("database is locked"))
    return `The folder ${folder} is used by another store. Stop it, or give another --data folder.`;
  if (
    code === "EACCES" ||
    code === "EROFS" ||
    code === "ENOTDIR" ||
    code === "EEXIST" ||
    code === "ENOENT" ||
    code === "ENOSPC"
  ) {
    return `The folder ${folder} cannot be written (${code}). Give --data a folder this account may write, with free space.`;
  }
  return `The store cannot start: ${message}`;
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
