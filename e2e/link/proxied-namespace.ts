import { addNamespace, ip, removeLeftovers, removeNamespace } from "./namespaces.ts";

/** A network namespace with one neighbor and no route: whatever leaves it goes through a proxy on that neighbor. */
export interface ProxiedNamespace {
  /** Runs a program inside: `nsenter --net=FILE`. */
  under: readonly string[];
  /** Where a proxy has to listen, outside of it. */
  proxyAddress: string;
  close(): Promise<void>;
}

/** Why there is none on this machine; null where there is. */
export const whyNoNamespace = (): string | null =>
  process.platform === "linux" && process.getuid?.() === 0 ? null : "network namespaces need root on Linux";

/** @throws CannotRun where `ip` fails */
export async function openProxiedNamespace(): Promise<ProxiedNamespace> {
  await removeLeftovers();
  const { name, file } = await addNamespace("proxied");
  const device = `tide${process.pid % 100_000}`;
  // Tests of several runs at once: each has neighbors of its own.
  const net = `10.91.${process.pid % 250}`;
  const [proxyAddress, inside] = [`${net}.1`, `${net}.2`];
  try {
    await ip("link", "add", device, "type", "veth", "peer", "name", "way0", "netns", name);
    await ip("addr", "add", `${proxyAddress}/30`, "dev", device);
    await ip("link", "set", device, "up");
    await ip("-n", name, "addr", "add", `${inside}/30`, "dev", "way0");
    await ip("-n", name, "link", "set", "way0", "up");
  } catch (error) {
    await removeNamespace(name);
    throw error;
  }
  // The other end goes with it.
  return { under: ["nsenter", `--net=${file}`], proxyAddress, close: () => removeNamespace(name) };
}
