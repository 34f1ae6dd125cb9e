import type { MetadataRoute } from "next";

export default function manifest(): MetadataRoute.Manifest {
  return {
    name: "Tidemark",
    short_name: "Tidemark",
    description: "Keeps the training state of GPU nodes you do not own safe in object storage that you do own.",
    start_url: "/",
    display: "standalone",
    background_color: "#f6f7f7",
    theme_color: "#0a7771",
    icons: [
      { src: "/icon.svg", sizes: "any", type: "image/svg+xml" },
      { src: "/icon-192.png", sizes: "192x192", type: "image/png" },
      { src: "/icon-512.png", sizes: "512x512", type: "image/png" },
      { src: "/icon-maskable-512.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
    ],
  };
}
