import { classOf } from "#storage/network/address-rules.ts";

/**
 * Returns why an address is refused; null when it is allowed. Addresses may come from a hub, and none may lead a node to the
 * metadata service of its own cloud.
 */
export const whyRefused = (address: string): string | null =>
  classOf(address) === "never" ? "link-local, metadata and multicast addresses are never allowed" : null;
