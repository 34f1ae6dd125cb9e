import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { receiveSecrets } from "../platform/receive-secrets.ts";
import { createSigner } from "./answer.ts";
import { serveSigner } from "./serve.ts";

/**
 * Main module of the signer: the only process that holds the master key or an unsealed bucket key. It renders nothing, opens no
 * connection and reads no untrusted request; it answers the hub over one pipe and ends with it.
 */

const { TIDEMARK_DATA } = process.env;

// The launcher decides when to stop; a terminal's Ctrl-C reaches every process of the group.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
process.on("disconnect", () => process.exit(0));

// The launcher hands the secrets over as the first message.
const given = await receiveSecrets();

function secretText(name: "TIDEMARK_SECRET" | "TIDEMARK_SECRET_PREVIOUS"): string | null {
  const text = given[name] ?? "";
  if (text !== "") return text;
  const file = process.env[`${name}_FILE`] ?? "";
  return file === "" ? null : readFileSync(file, "utf8").trim();
}

const signer = createSigner({
  secret: secretText("TIDEMARK_SECRET"),
  previous: secretText("TIDEMARK_SECRET_PREVIOUS"),
  dataFolder: resolve(TIDEMARK_DATA ?? "data"),
});
const pipe = new Socket({ fd: 3, readable: true, writable: true });
pipe.on("error", () => process.exit(1));
await serveSigner(signer, pipe);
process.exit(0);
