import { classOf } from "#storage/network/address-rules.ts";

/** Addresses come from a hub, too: none of them leads a node to the metadata service of its own cloud. */
export const whyRefused = (address: string): string | null =>
  classOf(address) === "never" ? "link-local, metadata and multicast addresses are never allowed" : null;
