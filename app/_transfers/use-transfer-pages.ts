import { useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";
import { askedBy, type TransferFilter, type TransferSearch } from "./transfer-filter.ts";

const PAGE = 30;
const newest = (): string | null => null;

export interface TransfersAsked {
  /** Transfers of one node; null for all nodes. */
  nodeId: string | null;
  filter: TransferFilter;
  search: TransferSearch;
}

/** Returns stored transfers that match the filters, page by page. */
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
