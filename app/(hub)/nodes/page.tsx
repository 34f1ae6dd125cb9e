import type { Metadata } from "next";
import { NodesView } from "./nodes-view.tsx";

export const metadata: Metadata = { title: "Nodes" };

export default function NodesPage() {
  return <NodesView />;
}
