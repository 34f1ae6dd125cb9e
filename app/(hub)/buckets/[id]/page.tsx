import type { Metadata } from "next";
import { BucketPageView } from "./bucket-view.tsx";

export const metadata: Metadata = { title: "Bucket" };

export default async function BucketPage({ params }: { params: Promise<{ id: string }> }) {
  return <BucketPageView id={decodeURIComponent((await params).id)} />;
}
