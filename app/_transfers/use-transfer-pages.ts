import { useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";
import { askedBy, type TransferFilter, type TransferSearch } from "./transfer-filter.ts";

const PAGE = 30;
const newest = (): string | null => null;

export interface TransfersAsked {
  /** One node's, or everybody's. */
  nodeId: string | null;
  filter: TransferFilter;
  search: TransferSearch;
}

/** What the hub keeps of transfers, page by page, as the filters ask for it. */
export function useTransferPages({ nodeId, filter, search }: TransfersAsked) {
  return useInfiniteQuery({
    queryKey: ["transfers", nodeId, filter.id, search],
    queryFn: ({ pageParam }) => {
      const page = { cursor: pageParam, limit: PAGE };
      return hub.transfers.list.query({ nodeId, run: null, states: [...filter.states], ...askedBy(search), ...page });
    },
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
}
