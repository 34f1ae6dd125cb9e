import type { TransferDirection } from "#protocol/wire/transfer.ts";

/** Describes the target of a transfer in words. */
export function placeOf(
  store: { bucket: string; prefix: string },
  about: { direction: TransferDirection; run: string },
): string {
  switch (about.direction) {
    case "upload":
    case "copy":
      return `${store.bucket}/${store.prefix}runs/${about.run}`;
    case "download":
      return "a folder on the node";
    case "verify":
      return "read and compared, nothing is kept";
    case "drill":
      return "a scratch folder, removed afterwards";
  }
}
