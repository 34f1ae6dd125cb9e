import type { Metadata } from "next";
import { BucketsView } from "./buckets-view.tsx";

export const metadata: Metadata = { title: "Buckets" };

export default function BucketsPage() {
  return <BucketsView />;
}
