"use client";
import type { ChangeAs } from "../_hub/address/address-changes.ts";
import { useAddress } from "../_hub/address/address.ts";
import { directionOf, type TransferSearch } from "./transfer-filter.ts";

/** Query parameters of the search. `show` is not among them. */
const WORDS = { node: "node", run: "run", direction: "way", fromDay: "from", toDay: "to" } as const;
const NAMES = ["node", "run", "direction", "fromDay", "toDay"] as const satisfies readonly (keyof TransferSearch)[];

/** Returns the filters of the transfer list, kept in the address. */
export function useTransferSearch() {
  const { params, change: changeAddress } = useAddress();
  const search: TransferSearch = {
    node: params.get(WORDS.node) ?? "",
    run: params.get(WORDS.run) ?? "",
    direction: directionOf(params.get(WORDS.direction)),
    fromDay: params.get(WORDS.fromDay) ?? "",
    toDay: params.get(WORDS.toDay) ?? "",
  };
  const change = (some: Partial<TransferSearch>, as: ChangeAs): void =>
    changeAddress((words) => {
      for (const name of NAMES) {
        const value = some[name];
        if (value === undefined) continue;
        if (value === "") words.delete(WORDS[name]);
        else words.set(WORDS[name], value);
      }
    }, as);
  const clear = (): void => change({ node: "", run: "", direction: "", fromDay: "", toDay: "" }, "step");
  return { search, change, clear };
}
