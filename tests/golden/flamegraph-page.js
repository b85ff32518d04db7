// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the flame graph's page, run in it by flamegraph.py, which calls this with a test's name.
 * They act as a person does, with events at points of the window. The value is a list of
 * [passed, name]. The profiles are those of make-flamegraph.c.
 */
(async (testName) => {
	"use strict";
	const fg = window.flameGraph;
	const byId = (id) => document.getElementById(id);
	const canvas = byId("graph");
	const results = [];

	function ok(condition, name, why) {
		results.push([Boolean(condition),
			condition || why === undefined ? name : `${name}: ${JSON.stringify(why)}`]);
	}

	const same = (got, wanted, name) => ok(got === wanted, name, { got, wanted });
	const near = (got, wanted, name) => ok(Math.abs(got - wanted) < 1, name, { got, wanted });
	const text = (id) => byId(id).textContent;
	/* Until the page has drawn what was asked for: two frames, or more while it moves. */
	const frames = (n) => new Promise((done) => {
		const step = () => (n-- ? requestAnimationFrame(step) : done());
		step();
	});

	async function settled() {
		let before, now;

		do {
			before = JSON.stringify(fg.state());
			await frames(3);
			now = JSON.stringify(fg.state());
		} while (before !== now);
	}

	const find = (name) => {
		for (let i = 0; i < fg.frames(); i++)
			if (fg.nameOf(i) === name)
				return i;
		return -1;
	};

	function point(i, at = 0.5) {
		const box = fg.box(i), origin = canvas.getBoundingClientRect();

		return {
			clientX: origin.left + box.left + (box.right - box.left) * at,
			clientY: origin.top + box.top + box.height / 2,
			bubbles: true, cancelable: true,
		};
	}

	async function click(i) {
		canvas.dispatchEvent(new MouseEvent("click", point(i)));
		await settled();
	}

	async function hover(i) {
		canvas.dispatchEvent(new PointerEvent("pointermove", point(i)));
		await settled();
	}

	async function key(name, more) {
		const event = new KeyboardEvent("keydown",
			{ key: name, bubbles: true, cancelable: true, ...more });

		document.activeElement.dispatchEvent(event);
		await settled();
		return event;
	}

	async function type(value) {
		byId("search").value = value;
		byId("search").dispatchEvent(new Event("input", { bubbles: true }));
		await settled();
	}

	const widthOf = (i) => fg.box(i).right - fg.box(i).left;

	/* The colour drawn inside frame @i, beside its text. */
	function colour(i) {
		const box = fg.box(i), ratio = devicePixelRatio;
		const context = canvas.getContext("2d");

		return [...context.getImageData((box.right - 4) * ratio, (box.top + 4) * ratio, 1, 1).data];
	}

	const parameters = () => new URLSearchParams(location.hash.slice(1));

	async function testFirstView() {
		same(document.title, "small", "the window's title");
		same(text("title"), "small", "the heading");
		same(text("subtitle"), "guest kernel 6.1.0 \u00b7 997 Hz", "the notes");
		const legend = text("legend");
		ok(legend.includes("guest kernel36.0 %"), "the kernel's share", legend);
		ok(legend.includes("guest module4.00 %"), "the modules' share", legend);
		ok(legend.includes("guest user55.0 %"), "user space's share", legend);
		ok(legend.includes("unknown5.00 %"), "the unknown share", legend);
		near(widthOf(0), canvas.clientWidth, "the root is as wide as the window");
		near(widthOf(find("work_a")), canvas.clientWidth / 2, "50 % take half of it");
		near(widthOf(find("work_b")), canvas.clientWidth * 0.3, "30 % take 30 %");
		near(fg.box(find("work_c")).right, canvas.clientWidth, "the last ends at the edge");
		ok(fg.box(0).top > fg.box(find("main")).top, "the root is below");
	}

	async function testColours() {
		const kernel = colour(find("vfs_read")), user = colour(find("work_a"));
		const module = colour(find("ext4_file_read")), unknown = colour(find("[unknown]"));

		ok(kernel[0] > kernel[2] + 60, "kernel frames are warm", kernel);
		ok(user[2] > user[0] + 40, "user frames are cold", user);
		ok(module[1] > kernel[1] + 20 && module[0] > module[2], "modules are not as the kernel",
			module);
		ok(Math.max(...unknown.slice(0, 3)) - Math.min(...unknown.slice(0, 3)) < 40,
			"the unknown is grey", unknown);
	}

	async function testHover() {
		const i = find("ext4_file_read");

		ok(byId("tip").hidden, "no card at first");
		await hover(i);
		const tip = text("tip");
		ok(!byId("tip").hidden, "a card over a frame");
		ok(tip.includes("ext4_file_read") && tip.includes("guest module \u00b7 [ext4]"),
			"it names the frame", tip);
		ok(tip.includes("total100 samples10.0 %"), "its samples", tip);
		ok(tip.includes("self40 samples4.00 %"), "its own samples", tip);
		ok(tip.includes("25.0 % of its caller vfs_read"), "its share of the caller", tip);
		canvas.dispatchEvent(new PointerEvent("pointerleave"));
		ok(byId("tip").hidden, "the card goes");
	}

	async function testZoom() {
		const a = find("work_a"), read = find("vfs_read");

		ok(byId("reset").disabled, "nothing to reset at first");
		await click(a);
		same(fg.state().frame, a, "a click zooms");
		near(widthOf(a), canvas.clientWidth, "the frame fills the window");
		near(widthOf(find("main")), canvas.clientWidth, "so do its ancestors");
		near(widthOf(read), canvas.clientWidth * 0.8, "its callees are in proportion");
		near(fg.box(find("work_b")).left - canvas.clientWidth, 0, "others are out of view");
		same(parameters().get("frame"), String(a), "the fragment has it");
		ok(!byId("reset").disabled, "reset is offered");
		await click(read);
		same(fg.state().frame, read, "a second click zooms on");
		await key("Backspace");
		same(fg.nameOf(fg.state().frame), "read", "Backspace goes to the caller");
		history.back();
		await new Promise((done) => addEventListener("popstate", done, { once: true }));
		await settled();
		same(fg.state().frame, read, "the browser's back button works");
		await key("Escape");
		same(fg.state().frame, 0, "Esc shows the whole");
		await click(a);
		byId("reset").click();
		await settled();
		same(fg.state().frame, 0, "so does the button");
		near(widthOf(a), canvas.clientWidth / 2, "all is as before");
	}

	async function testSearch() {
		const read = find("vfs_read"), before = colour(read), other = colour(find("work_b"));

		await type("vfs_read|ext4_file");
		same(text("matched"), "matched 40.0 %", "a sample matches once");
		ok(String(colour(read)) !== String(before), "matches are highlighted", before);
		ok(String(colour(find("work_b"))) !== String(other), "the others fade", other);
		same(parameters().get("search"), "vfs_read|ext4_file", "the fragment has it");
		await type("\\[ext4\\]");
		same(text("matched"), "matched 10.0 %", "modules are searched too");
		await type("WORK_A");
		same(text("matched"), "matched 0.00 %", "a capital asks for case");
		await type("work_[AB]");
		same(text("matched"), "matched 0.00 %", "also in a class");
		await type("work_[ab]");
		same(text("matched"), "matched 80.0 %", "a regular expression");
		await type("work_(");
		same(byId("search").getAttribute("aria-invalid"), "true", "a bad one is marked");
		same(text("matched"), "", "and matches nothing");
		await type("ext4");
		await click(find("work_a"));
		same(text("matched"), "matched 10.0 % of all, 20.0 % in view", "the share in view");
		byId("search").focus();
		await key("Escape");
		same(fg.state().search, "", "Esc clears the search first");
		same(byId("search").value, "", "and its field");
		await key("Escape");
		same(fg.state().frame, 0, "then the zoom");
		same(location.hash, "", "the fragment is empty again");
	}

	async function testKeyboard() {
		canvas.focus();
		ok((await key("/")).defaultPrevented, "/ is ours");
		same(document.activeElement, byId("search"), "/ goes to the search");
		canvas.focus();
		ok((await key("f", { ctrlKey: true })).defaultPrevented, "Ctrl-F is ours");
		same(document.activeElement, byId("search"), "Ctrl-F goes to the search");
		ok(!(await key("f", { ctrlKey: true })).defaultPrevented, "the second is the browser's");
		ok(!(await key("i")).defaultPrevented, "letters go into the field");
		canvas.focus();
		await key("ArrowUp");
		for (const name of ["busy", "main", "work_a"]) {
			await key("ArrowUp");
			ok(text("spoken").startsWith(name + ","), `up to ${name}`, text("spoken"));
		}
		await key("ArrowRight");
		same(text("spoken"), "work_b, guest user, 300 samples, 30.0 %", "right to work_b");
		ok(text("tip").includes("work_b"), "the card follows");
		await key("ArrowLeft");
		await key("ArrowLeft");
		ok(text("spoken").startsWith("work_a,"), "the edge stops it", text("spoken"));
		await key("ArrowDown");
		ok(text("spoken").startsWith("main,"), "down to the caller", text("spoken"));
		await key("ArrowUp");
		await key("Enter");
		same(fg.nameOf(fg.state().frame), "work_a", "Enter zooms");
		await key("Home");
		same(fg.state().frame, 0, "Home shows the whole");
		await key("Escape");
		await key("i");
		ok(fg.box(0).top < fg.box(find("main")).top, "i puts the root above");
		same(parameters().get("inverted"), "1", "the fragment has it");
		await key("i");
		ok(fg.box(0).top > fg.box(find("main")).top, "and below again");
	}

	async function testResize() {
		const before = canvas.clientWidth;

		document.body.style.width = "500px";
		await settled();
		ok(canvas.clientWidth < 500 && canvas.clientWidth < before, "the graph follows the window");
		same(canvas.width, Math.round(canvas.clientWidth * devicePixelRatio), "sharply");
		near(widthOf(find("work_a")), canvas.clientWidth / 2, "in proportion");
		document.body.style.width = "";
		await settled();
	}

	async function testSmall() {
		await testFirstView();
		await testColours();
		await testHover();
		await testZoom();
		await testSearch();
		await testKeyboard();
		await testResize();
	}

	async function testFragment() {
		same(fg.state().frame, 3, "the frame of the fragment");
		same(byId("search").value, "vfs_.*", "its search");
		same(text("matched"), "matched 40.0 % of all, 80.0 % in view", "is done");
		ok(fg.box(0).top < fg.box(3).top, "its direction");
		near(widthOf(3), canvas.clientWidth, "is in view at once");
	}

	async function testBadFragment() {
		same(fg.state().frame, 0, "a frame that is not there");
		same(byId("search").getAttribute("aria-invalid"), "true", "a bad search");
	}

	async function testTime() {
		for (const [name, time] of [["main", "1.0 \u00b5s"], ["work_a", "500 ns"]]) {
			await hover(find(name));
			ok(text("tip").includes(`total${time}`), `${time} of ${name}`, text("tip"));
		}
	}

	async function testInverted() {
		ok(fg.box(0).top < fg.box(1).top, "the root is above");
		near(fg.box(0).top, 0, "at the top");
	}

	async function testHostile() {
		same(document.title, "</title><b id=pwned>&amp;", "the title is text");
		same(document.getElementById("pwned"), null, "no element came of it");
		same(document.images.length, 0, "no image");
		same(document.scripts.length, 2, "no script but the page's");
		await hover(2);
		ok(text("tip").includes("<img src=x onerror="), "a name is text", text("tip"));
		same(byId("tip").querySelector("img"), null, "and only text");
		await hover(4);
		ok(text("tip").includes("\\x1b]0;pwned\\x07\\x0a\"\\'"), "control characters are told",
			text("tip"));
		ok(text("tip").includes("\\xff\\xfe"), "and bytes that are no text", text("tip"));
		await type("__proto__|constructor");
		same(text("matched"), "matched 50.0 %", "names of the language are names");
	}

	async function testWide() {
		same(fg.frames(), 100001, "all frames are there");
		ok(Number(canvas.dataset.drawn) <= 3 * canvas.clientWidth + 3, "a rectangle a pixel at most",
			canvas.dataset.drawn);
		const last = fg.frames() - 1;
		near(fg.box(last).right, canvas.clientWidth - 0.01, "the last is where it belongs");
		fg.zoom(last);
		await settled();
		near(widthOf(last), canvas.clientWidth, "it can be zoomed to");
		same(canvas.dataset.drawn, "3", "only what is in view is drawn");
		await type("function_49999$");
		same(text("matched"), "matched < 0.01 % of all, 100.0 % in view", "a tiny share is not none");
	}

	async function testDeep() {
		const stage = byId("stage");

		ok(stage.scrollHeight >= 3000 * 19, "as high as the stack", stage.scrollHeight);
		ok(canvas.height <= stage.clientHeight * devicePixelRatio + 1, "the canvas is not");
		near(stage.scrollTop + stage.clientHeight, stage.scrollHeight, "the root is in view");
		ok(Number(canvas.dataset.drawn) < 200, "only rows in view are drawn", canvas.dataset.drawn);
		stage.scrollTop = 0;
		await settled();
		ok(fg.box(2999).top >= 0 && fg.box(2999).top < stage.clientHeight, "the leaf can be seen");
		await click(2990);
		same(fg.state().frame, 2990, "and clicked");
		ok(fg.box(2990).top >= 0 && fg.box(2990).top < stage.clientHeight, "it stays in view",
			fg.box(2990));
	}

	async function testEmpty() {
		same(document.documentElement.dataset.state, "empty", "an empty profile is known as such");
		ok(document.body.textContent.includes("No samples."), "and said so");
	}

	async function testDark() {
		const page = [...canvas.getContext("2d").getImageData(1, 1, 1, 1).data];

		ok(page[0] < 60, "the page is dark", page);
		ok(colour(find("work_a"))[2] > 90, "frames are not", colour(find("work_a")));
	}

	const tests = {
		small: testSmall, fragment: testFragment, badfragment: testBadFragment,
		inverted: testInverted, time: testTime, hostile: testHostile, wide: testWide, deep: testDeep,
		empty: testEmpty, dark: testDark,
	};

	await tests[testName]();
	return results;
})
