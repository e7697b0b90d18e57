// SPDX-License-Identifier: GPL-3.0-or-later
// Controllers that OSC libraries of npm play: each one sends and receives as a known program does, and sets a value,
// which all others must get.
//
//     node controllers.js FOLDER LIMIT PORT SERVER OWN SERVER OWN
//
// FOLDER has the libraries, LIMIT is in seconds.  Of both networks: the address of the server, and that of this machine.
// The server knows the second machine as a listener on LISTENER, and has had no proof of the first one.

"use strict";

const { createRequire } = require("node:module");

const [folder, limit, port, deskServer, desk, tabletServer, tablet] = process.argv.slice(2);
const library = createRequire(`${folder}/`);
const osc = library("osc");
const nodeOsc = library("node-osc");
const OscJs = library("osc-js");

const LISTENER = 9001; // of the tablet
const FEEDBACK = 9004; // of Companion
const DESK = 9005;
const VALUE = "/node/vol/gain";
const FILLER = "0123456789abcdef"; // as long as a cookie

/** What a controller has received; expect() waits for a message with these first arguments. */
class Received {
  constructor(name) {
    this.name = name;
    this.messages = [];
    this.check = () => {};
  }

  add(path, values) {
    this.messages.push([path, ...values]);
    this.check();
  }

  expect(...wanted) {
    return new Promise((resolve) => {
      this.check = () => {
        const at = this.messages.findIndex((message) => wanted.every((word, n) => message[n] === word));
        if (at >= 0) {
          clearTimeout(this.timer);
          this.check = () => {};
          resolve(this.messages.splice(0, at + 1)[at]);
        }
      };
      this.timer = setTimeout(() => fail(`${this.name}: no ${wanted}, but ${this.messages.join(" | ")}`), limit * 1000);
      this.check();
    });
  }
}

function fail(words) {
  console.log(words);
  process.exit(1);
}

/** Resolves after an event. */
function opened(emitter, event) {
  return new Promise((resolve) => emitter.on(event, resolve));
}

/** The proof of the address of this machine. */
async function prove(controller) {
  controller.say("/server/hello", FILLER);
  const [, cookie] = await controller.answers.expect("/server/cookie");
  controller.say("/server/hello", cookie);
  await controller.answers.expect("/done", "/server/hello");
}

/** A subscription; `port` is that of the news, if it is another one. */
async function subscribe(controller, ...port) {
  controller.say("/server/notify", 1, ...port);
  await controller.answers.expect("/done", "/server/notify");
}

// ---- controllers: say() sends, `answers` get the answers (null: the program does not listen there), `news` the values of
// others ----

/** TouchOSC, with node-osc: sends from any port, listens on a fixed one, and cannot subscribe. */
async function touchOsc() {
  const news = new Received("TouchOSC (node-osc)");
  const listener = new nodeOsc.Server(LISTENER, tablet);
  listener.on("message", ([path, ...values]) => news.add(path, values));
  listener.on("bundle", (bundle) => bundle.elements.forEach(([path, ...values]) => news.add(path, values)));
  await opened(listener, "listening");
  const client = new nodeOsc.Client(tabletServer, +port);
  const say = (...message) => client.send(...message);
  await say("/server/notify", 1, LISTENER); // a button, which brings all values
  return { say, answers: null, news };
}

/** Open Stage Control, with osc-js: sends from the port on which it listens. */
async function openStageControl() {
  const received = new Received("Open Stage Control (osc-js)");
  const [open, send] = [{ host: desk, port: DESK }, { host: deskServer, port: +port }];
  const plugin = new OscJs.DatagramPlugin({ type: "udp4", open, send });
  const client = new OscJs({ plugin });
  client.on("*", (message) => received.add(message.address, message.args));
  client.open();
  await opened(client, "open");
  const packet = (message) => new OscJs.Message(...message);
  const say = (...message) => client.send(packet(message));
  const sayTogether = (...messages) => client.send(new OscJs.Bundle(messages.map(packet)));
  const controller = { say, sayTogether, answers: received, news: received };
  await prove(controller);
  await subscribe(controller);
  return controller;
}

/** A message as npm osc has it. */
function packetOf([address, ...values]) {
  const typeOf = (value) => (typeof value === "string" ? "s" : Number.isInteger(value) ? "i" : "f");
  return { address, args: values.map((value) => ({ type: typeOf(value), value })) };
}

/** A port of npm osc, open. */
async function oscPort(name, socket) {
  const received = new Received(name);
  socket.on("message", (message) => received.add(message.address, message.args));
  socket.on("error", (error) => fail(`${name}: ${error}`));
  socket.open();
  await opened(socket, "ready");
  const say = (...message) => socket.send(packetOf(message));
  const sayTogether = (...messages) => socket.send({ timeTag: { raw: [0, 1] }, packets: messages.map(packetOf) });
  return { say, sayTogether, answers: received, news: received };
}

/** Companion, with osc: sends from any port, listens on another one.  Its machine has proved its address. */
async function companion() {
  const socket = { localAddress: desk, remoteAddress: deskServer, remotePort: +port, metadata: false };
  const udp = (localPort) => new osc.UDPPort({ ...socket, localPort });
  const feedback = await oscPort("Companion (osc), feedback", udp(FEEDBACK));
  const controller = { ...(await oscPort("Companion (osc)", udp(0))), news: feedback.news };
  await subscribe(controller, FEEDBACK);
  return controller;
}

/** QLab, with osc: TCP, with SLIP. */
async function qLab() {
  const socket = new osc.TCPSocketPort({ address: deskServer, port: +port, metadata: false });
  const controller = await oscPort("QLab (osc, TCP)", socket);
  await subscribe(controller);
  return controller;
}

async function main() {
  const controllers = [await touchOsc(), await openStageControl(), await companion(), await qLab()];
  for (const { news } of controllers) {
    await news.expect(VALUE); // the present one
  }
  for (const [n, controller] of controllers.entries()) {
    const value = -30.5 - n;
    controller.say(VALUE, value);
    for (const { news } of controllers.filter((other) => other !== controller)) {
      await news.expect(VALUE, value);
    }
    await controller.answers?.expect("/done", VALUE);
  }
  for (const controller of controllers.filter(({ sayTogether }) => sayTogether)) {
    controller.sayTogether([VALUE, -40.25], ["/server/ping"]);
    controller.say("/nowhere");
    for (const answer of [["/done", VALUE], ["/done", "/server/ping"], ["/fail", "/nowhere"]]) {
      await controller.answers.expect(...answer);
    }
  }
  console.log(controllers.map(({ news }) => news.name).join(", "));
  process.exit(0);
}

main().catch((error) => fail(error.stack));
