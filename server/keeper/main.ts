import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { createKeeper } from "./answer.ts";
import { serveKeeper } from "./serve.ts";

/**
 * The keeper: the only process that holds the master key or an unsealed bucket key. It renders nothing, opens no
 * connection and reads no request of a stranger; it answers the hub over one pipe and ends with it.
 */

const { TIDEMARK_SECRET, TIDEMARK_SECRET_FILE, TIDEMARK_DATA } = process.env;

function secretText(): string | null {
  if (TIDEMARK_SECRET !== undefined && TIDEMARK_SECRET !== "") return TIDEMARK_SECRET;
  if (TIDEMARK_SECRET_FILE === undefined || TIDEMARK_SECRET_FILE === "") return null;
  return readFileSync(TIDEMARK_SECRET_FILE, "utf8").trim();
}

// The launcher decides when to stop; a terminal's Ctrl-C reaches every process of the group.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
process.on("disconnect", () => process.exit(0));

const keeper = createKeeper({ secret: secretText(), dataFolder: resolve(TIDEMARK_DATA ?? "data") });
const pipe = new Socket({ fd: 3, readable: true, writable: true });
pipe.on("error", () => process.exit(1));
await serveKeeper(keeper, pipe);
process.exit(0);
