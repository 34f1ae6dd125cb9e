import type { ServerName } from "./case.ts";
import { inCi, installServer, type Tool, withAllPeers } from "../servers/install.ts";
import type { S3Server } from "../servers/run-binary.ts";
import { startMinio } from "../servers/start-minio.ts";
import { startEmbeddedStore } from "../servers/start-store.ts";
import { startVersitygw } from "../servers/start-versitygw.ts";

/**
 * The servers of the table, and those that cannot run on this machine with the reason. In CI none may be missing. MinIO takes
 * minutes to build and is held against the table by `npm run prove -- peers`.
 */

/** A row of the table: how to start it, or why it cannot be. */
export type ServerRow =
  | { readonly name: ServerName; readonly start: () => Promise<S3Server> }
  | { readonly name: ServerName; readonly missing: string };

function row(name: ServerName, tool: Tool, start: (program: string) => Promise<S3Server>): ServerRow {
  return "missing" in tool ? { name, missing: tool.missing } : { name, start: () => start(tool.program) };
}

/** Installs what is missing and gives all rows; throws in CI when a server cannot be had. */
export async function serverRows(): Promise<readonly ServerRow[]> {
  const ci = inCi();
  return [
    { name: "embedded", start: () => startEmbeddedStore() },
    row("versitygw", await installServer("versitygw", { ci }), startVersitygw),
    ...(withAllPeers() ? [row("minio", await installServer("minio", { ci }), startMinio)] : []),
  ];
}
