// The kernels of a profiled run as a graph: what reads what, in which layout, with the time as colour.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { base, fit, font, hover, inks, textWidth, tip, type Look, type Mark, type Plot } from "./plot";
import { kernelLines } from "./profile";
import { bytes, count, percent, shorten, time } from "../data/format";
import { shapeText, type Graph, type GraphEdge, type GraphNode, type GraphValue } from "../data/graph";
import { layered, type Layers } from "../data/layers";

const sizes = { width: 186, height: 52, across: 16, down: 34 };
/** Room for the text of a node. */
const textOf = sizes.width - 14;
/** Above the graph: the scale of the colours. */
const top = 46;

type Colour = [number, number, number];
const scaleOf = (look: Look): Colour[] =>
  look.dark
    ? [
        [32, 40, 52],
        [122, 74, 34],
        [255, 136, 71],
      ]
    : [
        [245, 247, 250],
        [247, 196, 140],
        [186, 66, 8],
      ];
const css = (colour: Colour) => `rgb(${colour.map(Math.round).join(",")})`;
function mixed(scale: Colour[], share: number): Colour {
  const at = Math.max(0, Math.min(1, share)) * (scale.length - 1),
    low = Math.min(scale.length - 2, Math.floor(at));
  return scale[low].map((part, index) => part + (scale[low + 1][index] - part) * (at - low)) as Colour;
}
const isBright = ([red, green, blue]: Colour) => 0.3 * red + 0.59 * green + 0.11 * blue > 140;

const titleOf = (node: GraphNode): string =>
  node.kernel
    ? node.kernel.nodes.join(" + ") || node.kernel.name || node.kernel.kind
    : `${node.input ? "input" : "output"} ${node.value?.name ?? ""}`;
const insideOf = (value: GraphValue): string => (value.inside ? `in place in ${value.inside}` : "");

function valueLines(value: GraphValue): [string, string][] {
  return [
    ["shape", `${value.type} ${value.dims.replaceAll("x", "×") || "scalar"}`],
    ["layout", value.layout || "row-major"],
    ...(value.bytes ? [["size", bytes(value.bytes)] as [string, string]] : []),
    ...(value.inside ? [["in place in", shorten(value.inside, 60)] as [string, string]] : []),
  ];
}

/** A smooth line through the points, in pixels, as SVG path data. */
function curve(points: number[][]): string {
  let path = `M${points[0].join(" ")}`;
  for (let i = 1; i < points.length; ++i) {
    const [x1, y1] = points[i - 1],
      [x2, y2] = points[i],
      bend = (y2 - y1) / 2;
    path += `C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  }
  return path;
}

/** Text of a node: what it computes; time; what it writes. */
function linesOf(node: GraphNode, whole: number): string[] {
  const written = node.value ? [shapeText(node.value), insideOf(node.value)].filter(Boolean).join(", ") : "";
  if (!node.kernel) return [titleOf(node), written];
  const { family, kind, seconds } = node.kernel;
  const figures = ` · ${time(seconds)} · ${percent(seconds / whole)}`;
  return [titleOf(node), fit(family || kind, textOf - textWidth(figures, 10), 10) + figures, written];
}

/** The graph in the window of the drawing. Both axes have one scale, also where everything is shown. */
function windowOf(layers: Layers, look: Look) {
  const wide = layers.width + 24,
    tall = layers.height + 8,
    scale = Math.min(1, Math.max(look.still ? 0 : 0.6, look.width / wide)),
    most = look.width < 640 ? 460 : 720,
    height = look.still ? tall * scale : Math.min(tall * scale, most),
    least = Math.min(scale, look.width / wide, height / tall);
  const width = look.width / least,
    shift = (width - layers.width) / 2,
    shown = look.width / scale,
    middle = shown < wide ? (layers.x[0] ?? 0) + shift : width / 2;
  const firstX = Math.max(0, Math.min(width - shown, middle - shown / 2));
  return {
    place: ([x, y]: [number, number]): [number, number] => [x + shift, y + 4],
    extent: [width, height / least] as [number, number],
    first: [
      [firstX, firstX + shown],
      [0, height / scale],
    ],
    height,
  };
}
type Window = ReturnType<typeof windowOf>;

function edgeSeries(graph: Graph, layers: Layers, view: Window, look: Look): object {
  const ink = inks(look),
    inPlace = look.dark ? "#2fc99b" : "#007a58";
  return {
    type: "custom",
    clip: true,
    z: 1,
    data: graph.edges.map((edge, index) => ({ value: view.place(layers.paths[index][0]), edge })),
    encode: { x: 0, y: 1 },
    renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      const { value } = graph.edges[params.dataIndex];
      return {
        type: "path",
        shape: { pathData: curve(layers.paths[params.dataIndex].map((place) => api.coord(view.place(place)))) },
        style: {
          fill: "none",
          stroke: value?.inside ? inPlace : ink.muted,
          lineWidth: value ? 1.3 : 1,
          lineDash: value?.inside ? [6, 3] : value ? null : [2, 3],
          opacity: 0.75,
        },
        emphasis: { style: { stroke: ink.strong, lineWidth: 2.4, opacity: 1 } },
      };
    },
  };
}

function nodeSeries(graph: Graph, layers: Layers, view: Window, whole: number, look: Look): object {
  const ink = inks(look),
    scale = scaleOf(look),
    longest = longestOf(graph);
  return {
    type: "custom",
    clip: true,
    z: 2,
    data: graph.nodes.map((node, index) => ({
      value: [...view.place([layers.x[index], layers.y[index]]), (node.kernel?.seconds ?? 0) / whole],
      node,
    })),
    encode: { x: 0, y: 1 },
    renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      const node = graph.nodes[params.dataIndex],
        [x, y] = api.coord([api.value(0), api.value(1)]),
        pixel = (api.size!([1, 1]) as number[])[0];
      const [width, height] = [sizes.width * pixel, sizes.height * pixel],
        fill = mixed(scale, node.kernel ? node.kernel.seconds / longest : 0),
        colour = !node.kernel ? ink.muted : isBright(fill) ? "#1c2330" : "#ffffff";
      const lines = pixel < 0.3 ? [] : linesOf(node, whole);
      return {
        type: "group",
        children: [
          {
            type: "rect",
            shape: { x: x - width / 2, y: y - height / 2, width, height, r: node.kernel ? 5 * pixel : height / 2 },
            style: {
              fill: node.kernel ? css(fill) : ink.surface,
              stroke: node.kernel ? ink.muted : ink.line,
              lineWidth: 1,
            },
            emphasis: { style: { stroke: ink.strong, lineWidth: 2.5 } },
          },
          ...lines.map((line, index) => {
            const size = index ? 10 : 11.5,
              weight = index ? 400 : 600;
            return {
              type: "text",
              silent: true,
              style: {
                text: fit(line, textOf, size, weight),
                x,
                y: y + (index - (lines.length - 1) / 2) * 15 * pixel,
                fill: colour,
                font: `${weight} ${size * pixel}px ${font}`,
                align: "center",
                verticalAlign: "middle",
              },
            };
          }),
        ],
      };
    },
  };
}

const longestOf = (graph: Graph): number => Math.max(1e-12, ...graph.nodes.map((node) => node.kernel?.seconds ?? 0));

/** Where the arrow keys lead to from each kernel: along an edge, and to the neighbours in the layer. */
function marksOf(graph: Graph, layers: Layers, view: Window): Mark[] {
  const order = graph.nodes
    .map((_node, index) => index)
    .sort((a, b) => layers.layer[a] - layers.layer[b] || layers.x[a] - layers.x[b]);
  const markOf = new Map(order.map((node, mark) => [node, mark]));
  const down = new Map<number, number>(),
    up = new Map<number, number>();
  for (const { from, to } of graph.edges) {
    if (!down.has(from)) down.set(from, to);
    if (!up.has(to)) up.set(to, from);
  }
  return order.map((index, mark) => {
    const node = graph.nodes[index],
      beside = (step: number) => {
        const other = order[mark + step];
        return other !== undefined && layers.layer[other] === layers.layer[index] ? mark + step : mark;
      };
    const along = (ways: Map<number, number>) => markOf.get(ways.get(index) ?? index)!;
    return {
      series: 1,
      item: index,
      point: node.kernel?.point ?? -1,
      label: () => (node.kernel ? `${titleOf(node)}: ${time(node.kernel.seconds)}` : titleOf(node)),
      place: view.place([layers.x[index], layers.y[index]]),
      ways: { ArrowDown: along(down), ArrowUp: along(up), ArrowLeft: beside(-1), ArrowRight: beside(1) },
    };
  });
}

export function kernelGraph(graph: Graph, whole: number, look: Look): Plot {
  const ink = inks(look),
    layers = layered(
      graph.nodes.length,
      graph.edges.map(({ from, to }): [number, number] => [from, to]),
      sizes,
    ),
    view = windowOf(layers, look),
    most = longestOf(graph) / whole;
  const axis = (last: number) => ({ type: "value", min: 0, max: last, show: false });
  const span = ([startValue, endValue]: number[]) => ({ startValue, endValue });
  const zoom = { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true };
  const option = {
    ...base(look),
    grid: { outerBoundsMode: "none", left: 0, right: 0, top, height: view.height },
    title: {
      text: "dashed: value in place, inside of another one",
      right: 8,
      top: look.width < 640 ? 0 : 14, // above the scale where there is no room beside it
      textStyle: { color: ink.muted, fontSize: 11, fontWeight: 400 },
      show: graph.edges.some((edge) => edge.value?.inside),
    },
    xAxis: axis(view.extent[0]),
    yAxis: { ...axis(view.extent[1]), inverse: true },
    visualMap: {
      type: "continuous",
      seriesIndex: 2,
      dimension: 2,
      min: 0,
      max: most,
      calculable: false,
      hoverLink: false,
      orient: "horizontal",
      left: 8,
      top: look.width < 640 ? 20 : 8,
      itemWidth: 12,
      itemHeight: 150,
      text: [`${percent(most)} of the time`, "0 %"],
      textStyle: { color: ink.muted, fontSize: 11 },
      inRange: { color: scaleOf(look).map(css) },
    },
    dataZoom: look.still
      ? []
      : [
          { ...zoom, xAxisIndex: 0, ...span(view.first[0]), minValueSpan: look.width / 2 },
          { ...zoom, yAxisIndex: 0, ...span(view.first[1]), minValueSpan: view.height / 2 },
        ],
    series: [
      edgeSeries(graph, layers, view, look),
      nodeSeries(graph, layers, view, whole, look),
      { type: "scatter", data: [] }, // what the scale of the colours belongs to
    ],
  };
  hover(option, (item: { data: { edge?: GraphEdge; node?: GraphNode } }) => {
    const { edge, node } = item.data;
    if (edge?.value) return tip([[edge.value.name || "value"], ...valueLines(edge.value)]);
    if (!node?.kernel)
      return tip(
        node ? [[titleOf(node)], ...(node.value ? valueLines(node.value) : [])] : [["inside of the branch or loop"]],
      );
    return tip([
      ...kernelLines(node.kernel, whole),
      ...(node.parent ? [["inside of", node.parent] as [string, string]] : []),
      ["reads", count(node.reads, "value")],
      ...(node.value
        ? ([["writes", shapeText(node.value)], ...valueLines(node.value).slice(2)] as [string, string][])
        : []),
    ]);
  });
  return {
    height: top + view.height,
    option,
    marks: marksOf(graph, layers, view),
    extent: view.extent,
  };
}
