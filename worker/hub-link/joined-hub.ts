import { stateFolder } from "../host/state-folder.ts";
import { usage, type CommandContext } from "../command-line/command-context.ts";
import { readHubAddress } from "./hub-address.ts";
import { connectHub, type Hub } from "./hub.ts";
import { readCredential } from "./node-credential.ts";

/** Connection to the hub that this machine has joined, for a command that runs beside the worker. */
export interface JoinedHub {
  hub: Hub;
  base: string;
  /** Returns the node's current credential. */
  secret(): string;
}

/**
 * Connects to the hub with the node credential of this machine. If the worker replaces the credential meanwhile, the new
 * one is read from the state folder. `about.signal` ends all calls; `about.otherwise` tells a user without a hub what to do.
 * @throws Fault BAD_INPUT, FOLDER_UNWRITABLE, HUB_PLAIN_HTTP
 */
export async function joinHub(
  { config, home }: Pick<CommandContext, "config" | "home">,
  about: { command: string; otherwise: string; signal: AbortSignal },
): Promise<JoinedHub> {
  const state = await stateFolder(config.text("state"), home);
  const found = await readCredential(state);
  if (found === null) throw usage(about.command, `this machine has not joined a hub: ${about.otherwise}`);
  let secret = found.credential;
  const base = readHubAddress(found.hub, { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" });
  const takeOther = async (used: string | null): Promise<boolean> => {
    const now = await readCredential(state);
    const other = [now?.credential, now?.next].find((one) => one !== undefined && one !== used);
    if (other === undefined) return false;
    secret = other;
    return true;
  };
  const hub = connectHub(base, { credential: () => secret, signal: about.signal, takeOther });
  return { hub, base, secret: () => secret };
}
