/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flame graph in the browser. The profile (see flamegraph.h) is JSON text in the page; all of
 * it is the guest's word and only ever becomes text. One canvas, as large as the window, shows the
 * rows in view; what is narrower than a pixel is drawn once per pixel, so the cost of a redraw
 * depends on the window, not on the profile. Zoom, search and direction live in the URL fragment.
 */
"use strict";
(() => {
	const ROW = 19;			/* pixels a row */
	const GAP = 1;			/* between frames */
	const FONT = '12px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace';
	const TEXT_MIN = 24;		/* narrower frames have no text */
	const MS_ZOOM = 180;

	const byId = (id) => document.getElementById(id);
	const profile = JSON.parse(byId("profile").textContent);
	const whose = profile.guest ? "guest " : "";
	/* By the number in the profile. */
	const KINDS = [
		{ id: "process", name: "process" },
		{ id: "kernel", name: whose + "kernel" },
		{ id: "module", name: whose + "module" },
		{ id: "user", name: whose + "user" },
		{ id: "unknown", name: "unknown" },
	];
	const graph = buildGraph(profile);
	const stage = byId("stage");
	const canvas = byId("graph");
	const ctx = canvas.getContext("2d", { alpha: false });
	const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
	const darkScheme = matchMedia("(prefers-color-scheme: dark)");

	/* What the fragment holds, */
	const state = { frame: 0, search: "", inverted: profile.inverted };
	/* and what follows from it and from the window. */
	let theme = null;
	let matches = null;		/* per symbol: 1 when it matches; null: no search */
	let view = { from: 0, to: graph.total };
	let animation = 0;
	let width = 0, height = 0, rows = 1;
	let hovered = -1, focused = -1;

	/*
	 * Columns, one entry a frame in preorder: depth, symbol, weight as given; left edge, end of
	 * the subtree, parent and self weight computed. Frame 0 is the root.
	 */
	function buildGraph({ depth, symbol, weight, symbols }) {
		const nr = depth.length;
		const g = {
			nr, depth, symbol, weight, symbols,
			total: nr ? weight[0] : 0,
			left: new Float64Array(nr), self: new Float64Array(nr),
			parent: new Int32Array(nr).fill(-1), end: new Uint32Array(nr).fill(nr),
		};
		const open = [];	/* the path to the current frame */
		const next = [0];	/* by depth: where the next child begins */

		for (let i = 0; i < nr; i++) {
			while (open.length > depth[i])
				g.end[open.pop()] = i;
			if (open.length) {
				g.parent[i] = open[open.length - 1];
				g.self[g.parent[i]] -= weight[i];
			}
			g.self[i] += weight[i];
			g.left[i] = next[depth[i]];
			next[depth[i]] += weight[i];
			next[depth[i] + 1] = g.left[i];
			open.push(i);
		}
		g.rows = groupByDepth(depth, next.length - 1);
		return g;
	}

	/* For each depth its frames, ascending, hence by left edge. */
	function groupByDepth(depth, nrRows) {
		const counts = new Uint32Array(nrRows);

		for (const d of depth)
			counts[d]++;
		const groups = Array.from(counts, (n) => new Uint32Array(n));
		counts.fill(0);
		depth.forEach((d, i) => { groups[d][counts[d]++] = i; });
		return groups;
	}

	const nameOf = (i) => graph.symbols[graph.symbol[i]][0];
	const moduleOf = (i) => graph.symbols[graph.symbol[i]][1];
	const kindOf = (i) => KINDS[graph.symbols[graph.symbol[i]][2]] || KINDS[4];

	function percent(part, whole) {
		const p = whole ? 100 * part / whole : 0;

		return (p > 0 && p < 0.01 ? "< 0.01" : p.toFixed(p < 10 ? 2 : 1)) + " %";
	}

	/* Time in the unit that leaves one to three digits before the point. */
	function duration(ns) {
		const units = ["ns", "\u00b5s", "ms", "s"];
		let u = 0;

		for (; u < units.length - 1 && ns >= 1000; u++)
			ns /= 1000;
		return `${ns.toFixed(u && ns < 100 ? 1 : 0)} ${units[u]}`;
	}

	function count(n) {
		if (profile.unit === "ns")
			return duration(n);
		return Math.round(n).toLocaleString("en-US") + " " +
			(n === 1 ? profile.unit.replace(/s$/, "") : profile.unit);
	}

	/* ---- colours ---- */

	function readTheme() {
		const style = getComputedStyle(document.documentElement);
		const get = (name) => style.getPropertyValue("--" + name).trim();
		const hsl = (name) => get(name).split(/\s+/).map(Number);

		theme = {
			page: get("page"), text: get("frame-text"), fadedText: get("frame-faded"),
			edge: get("frame-edge"), fills: new Map(),
		};
		for (const name of [...KINDS.map((k) => k.id), "match"])
			theme[name] = hsl(name);
	}

	/* 0 to 1, the same for the same name in every graph. */
	function hashName(name) {
		let h = 0x811c9dc5;

		for (let i = 0; i < name.length; i++)
			h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
		return ((h ^ (h >>> 15)) >>> 0) / 4294967296;
	}

	function fillOf(i) {
		const symbol = graph.symbol[i];
		const matched = matches && matches[symbol];
		const key = symbol * 2 + (matched ? 1 : 0);
		let fill = theme.fills.get(key);

		if (!fill) {
			const [h, s, l] = matched ? theme.match : theme[kindOf(i).id];
			const vary = hashName(nameOf(i)) - 0.5;

			fill = `hsl(${h + vary * 10} ${s}% ${l + vary * 9}%)`;
			theme.fills.set(key, fill);
		}
		return fill;
	}

	/* ---- drawing ---- */

	const rowTop = (row) => (state.inverted ? row * ROW : contentHeight() - (row + 1) * ROW);
	const contentHeight = () => Math.max(rows * ROW, height);
	const rowAt = (y) => Math.floor((state.inverted ? y : contentHeight() - 1 - y) / ROW);
	const scale = () => width / (view.to - view.from);

	/* Index in @row of the first frame that ends right of @x. */
	function firstRightOf(row, x) {
		let low = 0, high = row.length;

		while (low < high) {
			const mid = (low + high) >> 1;

			if (graph.left[row[mid]] + graph.weight[row[mid]] <= x)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}

	/* Pixels from the canvas's left edge, clipped to it. */
	function edges(i) {
		const k = scale();

		return [
			Math.max(0, (graph.left[i] - view.from) * k),
			Math.min(width, (graph.left[i] + graph.weight[i] - view.from) * k),
		];
	}

	function drawText(i, left, right, top, faded) {
		const room = Math.floor((right - left - 8) / theme.charWidth);
		let text = nameOf(i);

		if (text.length > room)
			text = text.slice(0, Math.max(1, room - 1)) + "\u2026";
		ctx.fillStyle = faded ? theme.fadedText : theme.text;
		ctx.fillText(text, left + 4, top + ROW / 2, right - left - 6);
	}

	function drawFrame(i, left, right, top) {
		const w = right - left > 2.5 ? right - left - GAP : Math.max(right - left, 1);
		const faded = (matches && !matches[graph.symbol[i]]) ||
			graph.depth[i] < graph.depth[state.frame];

		ctx.globalAlpha = faded ? 0.42 : 1;
		ctx.fillStyle = fillOf(i);
		if (w > 6) {
			ctx.beginPath();
			ctx.roundRect(left, top, w, ROW - GAP, 2.5);
			ctx.fill();
		} else {
			ctx.fillRect(left, top, w, ROW - GAP);
		}
		ctx.globalAlpha = 1;
		if (w >= TEXT_MIN)
			drawText(i, left, right, top, faded);
		if (i === hovered || i === focused) {
			ctx.strokeStyle = theme.edge;
			ctx.lineWidth = 1.5;
			ctx.strokeRect(left + 0.75, top + 0.75, Math.max(w - 1.5, 1), ROW - GAP - 1.5);
		}
	}

	/* Returns how many rectangles it took: at most one a pixel. */
	function drawRow(row, top) {
		let drawn = 0, used = -1;	/* last pixel column that is taken */

		for (let n = firstRightOf(row, view.from); n < row.length; n++) {
			const i = row[n];

			if (graph.left[i] >= view.to)
				break;
			const [left, right] = edges(i);
			if (right - left < 1 && Math.floor(left) <= used)
				continue;
			drawFrame(i, left, right, top);
			used = Math.floor(Math.max(left, right - 0.5));
			drawn++;
		}
		return drawn;
	}

	function draw() {
		const ratio = window.devicePixelRatio || 1;
		const scroll = stage.scrollTop;
		let drawn = 0;

		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = theme.page;
		ctx.fillRect(0, 0, width, height);
		ctx.font = FONT;
		ctx.textBaseline = "middle";
		theme.charWidth = ctx.measureText("0").width;
		for (let r = 0; r < graph.rows.length; r++) {
			const top = rowTop(r) - scroll;

			if (top > -ROW && top < height)
				drawn += drawRow(graph.rows[r], top);
		}
		canvas.dataset.drawn = drawn;
	}

	let redrawAsked = false;

	function redraw() {
		if (redrawAsked)
			return;
		redrawAsked = true;
		requestAnimationFrame(() => {
			redrawAsked = false;
			draw();
		});
	}

	/* Rows that the frames in view take. */
	function countRows() {
		const i = state.frame;
		let deepest = 0;

		for (let n = i; n < (graph.nr ? graph.end[i] : 0); n++)
			deepest = Math.max(deepest, graph.depth[n]);
		return deepest + 1;
	}

	function layout() {
		const ratio = window.devicePixelRatio || 1;

		width = Math.max(1, stage.clientWidth);
		height = Math.max(1, stage.clientHeight);
		rows = countRows();
		byId("spacer").style.height = `${contentHeight()}px`;
		canvas.style.height = `${height}px`;
		/* Assigning clears the canvas, so only when it changes. */
		if (canvas.width !== Math.round(width * ratio) ||
		    canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		draw();
	}

	/* Brings row @r into the window. */
	function scrollToRow(r) {
		const top = rowTop(r);

		if (top < stage.scrollTop)
			stage.scrollTop = Math.max(0, top - 2 * ROW);
		else if (top + ROW > stage.scrollTop + height)
			stage.scrollTop = top + 3 * ROW - height;
	}

	/* ---- zoom ---- */

	function moveView(from, to) {
		const start = performance.now();
		const old = { ...view };

		cancelAnimationFrame(animation);
		if (reducedMotion.matches || document.hidden) {
			view = { from, to };
			draw();
			return;
		}
		const step = (now) => {
			const t = Math.min(1, Math.max(0, (now - start) / MS_ZOOM));
			const ease = t * (2 - t);

			view = {
				from: old.from + (from - old.from) * ease,
				to: old.to + (to - old.to) * ease,
			};
			if (t === 1)
				view = { from, to };
			else
				animation = requestAnimationFrame(step);
			draw();
		};
		animation = requestAnimationFrame(step);
	}

	function showZoom(animate) {
		const i = state.frame;
		const from = graph.left[i], to = from + graph.weight[i];

		byId("reset").disabled = i === 0;
		layout();
		scrollToRow(graph.depth[i]);
		if (animate) {
			moveView(from, to);
		} else {
			cancelAnimationFrame(animation);
			view = { from, to };
			draw();
		}
		showMatched();
	}

	function zoom(i) {
		if (i === state.frame)
			return;
		state.frame = i;
		writeFragment(true);
		showZoom(true);
	}

	/* ---- search ---- */

	/* Case matters once the pattern has a capital. null: not a regular expression. */
	function compile(text) {
		const plain = text.replace(/\\./g, "");

		try {
			return new RegExp(text, /\p{Lu}/u.test(plain) ? "" : "i");
		} catch {
			return null;
		}
	}

	function matchSymbols(text) {
		const regex = compile(text);

		if (!text || !regex)
			return null;
		return Uint8Array.from(graph.symbols,
			([name, module]) => (regex.test(name) || regex.test(module) ? 1 : 0));
	}

	/* Weight below frame @root with a match on its path, each sample once. */
	function matchedWeight(root) {
		let sum = 0;

		for (let i = root; i < graph.end[root];) {
			if (matches[graph.symbol[i]]) {
				sum += graph.weight[i];
				i = graph.end[i];
			} else {
				i++;
			}
		}
		return sum;
	}

	function showMatched() {
		const output = byId("matched");

		if (!matches || !graph.nr) {
			output.textContent = "";
			return;
		}
		output.textContent = "matched " + percent(matchedWeight(0), graph.total);
		if (state.frame)
			output.textContent += " of all, " +
				percent(matchedWeight(state.frame), graph.weight[state.frame]) +
				" in view";
	}

	function showSearch() {
		const input = byId("search");

		if (input.value !== state.search)
			input.value = state.search;
		input.setAttribute("aria-invalid", String(state.search !== "" && !compile(state.search)));
		matches = matchSymbols(state.search);
		showMatched();
		redraw();
	}

	function search(text) {
		state.search = text;
		writeFragment(false);
		showSearch();
	}

	/* ---- the URL fragment ---- */

	function writeFragment(newEntry) {
		const parameters = new URLSearchParams();

		if (state.frame)
			parameters.set("frame", state.frame);
		if (state.search)
			parameters.set("search", state.search);
		if (state.inverted !== profile.inverted)
			parameters.set("inverted", state.inverted ? "1" : "0");
		const url = "#" + parameters.toString();
		if (newEntry)
			history.pushState(null, "", url);
		else
			history.replaceState(null, "", url);
	}

	function readFragment() {
		const parameters = new URLSearchParams(location.hash.slice(1));
		const frame = Number(parameters.get("frame"));

		state.frame = Number.isInteger(frame) && frame > 0 && frame < graph.nr ? frame : 0;
		state.search = parameters.get("search") || "";
		state.inverted = parameters.has("inverted") ?
			parameters.get("inverted") === "1" : profile.inverted;
	}

	/* ---- pointing and walking ---- */

	/* The frame at a point of the canvas, -1: none. */
	function frameAt(x, y) {
		const row = graph.rows[rowAt(y + stage.scrollTop)];
		const at = view.from + x / scale();

		if (!row)
			return -1;
		const i = row[firstRightOf(row, at)];
		if (i === undefined || graph.left[i] >= view.to)
			return -1;
		const [left, right] = edges(i);
		return x >= left && x <= Math.max(right, left + 1) ? i : -1;
	}

	function element(tag, text, className) {
		const e = document.createElement(tag);

		e.textContent = text;
		if (className)
			e.className = className;
		return e;
	}

	function tipRow(what, weight) {
		const tr = document.createElement("tr");

		tr.append(element("td", what), element("td", count(weight)),
			element("td", percent(weight, graph.total)));
		return tr;
	}

	/* The card for frame @i, at a point of the window. */
	function showTip(i, x, y) {
		const tip = byId("tip"), table = document.createElement("table");
		const module = moduleOf(i);

		table.append(tipRow("total", graph.weight[i]));
		table.append(tipRow("self", graph.self[i]));
		tip.replaceChildren(element("div", nameOf(i), "name"),
			element("div", kindOf(i).name + (module ? " \u00b7 " + module : ""), "where"), table);
		if (graph.parent[i] >= 0)
			tip.append(element("div", percent(graph.weight[i], graph.weight[graph.parent[i]]) +
				" of its caller " + nameOf(graph.parent[i]), "where"));
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		const below = y + 18 + box.height < innerHeight;
		tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
		tip.style.top = `${Math.max(4, below ? y + 18 : y - box.height - 12)}px`;
	}

	function hideTip() {
		byId("tip").hidden = true;
	}

	function focusFrame(i) {
		focused = i;
		scrollToRow(graph.depth[i]);
		draw();
		const [left, right] = edges(i);
		const box = canvas.getBoundingClientRect();
		showTip(i, box.left + Math.min(left + 8, (left + right) / 2),
			box.top + rowTop(graph.depth[i]) - stage.scrollTop + ROW / 2);
		byId("spoken").textContent = `${nameOf(i)}, ${kindOf(i).name}, ${count(graph.weight[i])}, ` +
			percent(graph.weight[i], graph.total);
	}

	/* The widest child of @i, -1: none. */
	function widestChild(i) {
		let best = -1;

		for (let n = i + 1; n < graph.end[i]; n = graph.end[n])
			if (best < 0 || graph.weight[n] > graph.weight[best])
				best = n;
		return best;
	}

	/* The neighbour of @i in its row and in view, -1: none. */
	function neighbour(i, step) {
		const row = graph.rows[graph.depth[i]];
		const n = row[row.indexOf(i) + step];

		if (n === undefined || graph.left[n] >= view.to ||
		    graph.left[n] + graph.weight[n] <= view.from)
			return -1;
		return n;
	}

	function walk(key) {
		const outward = state.inverted ? "ArrowDown" : "ArrowUp";
		const inward = state.inverted ? "ArrowUp" : "ArrowDown";
		let to = -1;

		if (focused < 0)
			to = state.frame;
		else if (key === outward)
			to = widestChild(focused);
		else if (key === inward)
			to = graph.parent[focused];
		else
			to = neighbour(focused, key === "ArrowLeft" ? -1 : 1);
		if (to >= 0)
			focusFrame(to);
	}

	function unfocus() {
		focused = hovered = -1;
		hideTip();
		redraw();
	}

	function flip() {
		state.inverted = !state.inverted;
		writeFragment(false);
		unfocus();
		layout();
		scrollToRoot();
		redraw();
	}

	/* ---- events ---- */

	function onPointerMove(event) {
		const box = canvas.getBoundingClientRect();
		const i = frameAt(event.clientX - box.left, event.clientY - box.top);

		canvas.classList.toggle("over", i >= 0);
		if (i >= 0)
			showTip(i, event.clientX, event.clientY);
		else
			hideTip();
		if (i === hovered && focused < 0)
			return;
		hovered = i;
		focused = -1;
		redraw();
	}

	function onClick(event) {
		const box = canvas.getBoundingClientRect();
		const i = frameAt(event.clientX - box.left, event.clientY - box.top);

		if (i >= 0) {
			hideTip();
			zoom(i);
		}
	}

	function escape() {
		if (state.search && document.activeElement === byId("search"))
			search("");
		else if (focused >= 0)
			unfocus();
		else if (state.frame)
			zoom(0);
		else if (state.search)
			search("");
	}

	/* True when the key meant something to us. */
	function onGraphKey(key) {
		if (key.startsWith("Arrow"))
			walk(key);
		else if (key === "Enter" && focused >= 0)
			zoom(focused);
		else if (key === "Backspace" && state.frame)
			zoom(graph.parent[state.frame]);
		else if (key === "Home" || key === "0")
			zoom(0);
		else if (key === "i")
			flip();
		else
			return false;
		return true;
	}

	function onKey(event) {
		const typing = document.activeElement === byId("search");
		const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
		const find = event.key === "f" && (event.ctrlKey || event.metaKey) && !event.altKey;

		/* Ctrl-F when the search has the focus already is the browser's own. */
		if ((find || (event.key === "/" && plain)) && !typing) {
			byId("search").focus();
			byId("search").select();
		} else if (event.key === "Escape") {
			escape();
		} else if (typing || !plain || document.activeElement.tagName === "BUTTON" ||
			   !onGraphKey(event.key)) {
			return;
		}
		event.preventDefault();
	}

	/* From the root on, as far as there is room. */
	function scrollToRoot() {
		stage.scrollTop = state.inverted ? 0 : contentHeight();
		scrollToRow(graph.depth[state.frame]);
	}

	function showFragment() {
		readFragment();
		showSearch();
		showZoom(false);
	}

	function listen() {
		canvas.addEventListener("pointermove", onPointerMove);
		canvas.addEventListener("pointerleave", unfocus);
		canvas.addEventListener("click", onClick);
		stage.addEventListener("scroll", redraw);
		document.addEventListener("keydown", onKey);
		byId("search").addEventListener("input", (event) => search(event.target.value));
		byId("search-form").addEventListener("submit", (event) => {
			event.preventDefault();
			canvas.focus();
		});
		byId("reset").addEventListener("click", () => zoom(0));
		byId("flip").addEventListener("click", flip);
		addEventListener("popstate", showFragment);
		darkScheme.addEventListener("change", showTheme);
		new ResizeObserver(layout).observe(stage);
	}

	/* ---- what does not change ---- */

	function showTheme() {
		readTheme();
		for (const swatch of document.querySelectorAll("#legend i")) {
			const [h, s, l] = theme[swatch.dataset.kind];

			swatch.style.background = `hsl(${h} ${s}% ${l}%)`;
		}
		redraw();
	}

	/* Each kind with the share of samples taken in code of that kind. */
	function showLegend() {
		const self = new Float64Array(KINDS.length);

		for (let i = 0; i < graph.nr; i++)
			self[KINDS.indexOf(kindOf(i))] += graph.self[i];
		for (let k = 1; k < KINDS.length; k++) {
			const li = document.createElement("li");
			const swatch = document.createElement("i");

			if (!self[k] && KINDS[k].id === "unknown")
				continue;
			swatch.dataset.kind = KINDS[k].id;
			li.append(swatch, KINDS[k].name, element("b", percent(self[k], graph.total)));
			byId("legend").append(li);
		}
	}

	function showHeading() {
		document.title = profile.title;
		byId("title").textContent = profile.title;
		byId("subtitle").textContent = profile.notes.join(" \u00b7 ");
	}

	showHeading();
	showLegend();
	showTheme();
	if (!graph.nr || !graph.total) {
		stage.replaceChildren(element("p", "No samples.", "message"));
		document.documentElement.dataset.state = "empty";
		return;
	}
	listen();
	showFragment();
	scrollToRoot();
	document.documentElement.dataset.state = "ready";

	/* For scripts and tests: where a frame is drawn, and what is at a point of the canvas. */
	window.flameGraph = {
		frameAt, nameOf, zoom,
		frames: () => graph.nr,
		state: () => ({ ...state, view: { ...view } }),
		box: (i) => {
			const [left, right] = edges(i);

			return { left, right, top: rowTop(graph.depth[i]) - stage.scrollTop, height: ROW };
		},
	};
})();
