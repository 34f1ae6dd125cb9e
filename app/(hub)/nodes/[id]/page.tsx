import type { Metadata } from "next";
import { NodeView } from "./node-view.tsx";

export const metadata: Metadata = { title: "Node" };

export default async function NodePage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return <NodeView id={decodeURIComponent(id)} />;
}
