"use client";
import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { directionOf, type TransferSearch } from "./transfer-filter.ts";

/** The words of the search in the address. `show` stays as it is. */
const WORDS = { node: "node", run: "run", direction: "way", fromDay: "from", toDay: "to" } as const;
const NAMES = ["node", "run", "direction", "fromDay", "toDay"] as const satisfies readonly (keyof TransferSearch)[];

/** What the transfers are narrowed by, kept in the address. */
export function useTransferSearch() {
  const params = useSearchParams();
  const router = useRouter();
  const path = usePathname();
  const search: TransferSearch = {
    node: params.get(WORDS.node) ?? "",
    run: params.get(WORDS.run) ?? "",
    direction: directionOf(params.get(WORDS.direction)),
    fromDay: params.get(WORDS.fromDay) ?? "",
    toDay: params.get(WORDS.toDay) ?? "",
  };
  const change = (some: Partial<TransferSearch>): void => {
    const next = new URLSearchParams(params);
    for (const name of NAMES) {
      const value = some[name];
      if (value === undefined) continue;
      if (value === "") next.delete(WORDS[name]);
      else next.set(WORDS[name], value);
    }
    const query = next.toString();
    router.replace(query === "" ? path : `${path}?${query}`, { scroll: false });
  };
  const clear = (): void => change({ node: "", run: "", direction: "", fromDay: "", toDay: "" });
  return { search, change, clear };
}
