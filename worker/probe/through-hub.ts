import { stateFolder } from "../host/state-folder.ts";
import { readHubAddress } from "../link/hub-address.ts";
import { connectHub } from "../link/hub.ts";
import { readCredential } from "../link/node-credential.ts";
import { usage, type Verb } from "../verbs/verb.ts";
import { askTarget, probeNodeLink } from "./node-link.ts";
import type { ProbeResult } from "./probe.ts";
import { readProbeWishes } from "./wishes.ts";

/** `tidemark probe` on a node that has joined a hub. It changes nothing there: a person only looks. Faults: BAD_INPUT, those of the hub and the store. */
export async function probeThroughHub({ config, home, signal }: Verb): Promise<ProbeResult> {
  const credential = await readCredential(await stateFolder(config.text("state"), home));
  if (credential === null) {
    const detail = "this machine has not joined a hub: name a bucket (tidemark probe s3://bucket), or join one first";
    throw usage("probe", detail);
  }
  const base = readHubAddress(credential.hub, { allowHttp: config.isOn("allow-http") ? "yes" : "loopback-only" });
  const hub = connectHub(base, { credential: () => credential.credential, signal });
  const engine = { connections: null, memoryBytes: null, idleMs: config.durationMs("stall-after") };
  return probeNodeLink(hub, await askTarget(hub, null), { ...readProbeWishes(config), engine, signal });
}
