// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * device.c: the class "dsm", its range of minors and the device nodes: /dev/dsm and one per region; of the
 * machine's further nodes, if it has any, /dev/dsm.K and /dev/dsm.K-NAME.
 *
 * One cdev serves all minors. devtmpfs makes the nodes with the owner, group and mode that
 * the region was created with. Never looks into an open file.
 */
#include <linux/cdev.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "../compat.h"
#include "ctl.h"

/*
 * Minor K is /dev/dsm of node K; behind those come regions, of whichever node. A region costs a device, an inode
 * and some kernel memory, so this is far above what is of use.
 */
#define MINORS 65536

#define CONTROL_MODE 0660

/**
 * struct node_dev - one device node
 * @dev:    the device; its name is the device node's
 * @node:   which of this module's nodes it belongs to
 * @region: region of /dev/dsm-NAME, which outlives the device; NULL for /dev/dsm
 */
struct node_dev {
	struct device dev;
	struct dsm_node *node;
	struct dsm_region *region;
};

static dev_t first_devt;
static struct cdev cdev;
static DEFINE_IDA(minors);
static struct node_dev *control[DSM_LOCAL_NODES_MAX];	/* by the node's number */
static u32 controls;

static struct class dsm_class = {
	.name = "dsm",
};

static struct node_dev *to_node_dev(dsm_compat_devnode_arg *dev)
{
	return container_of(dev, struct node_dev, dev);
}

static char *control_devnode(dsm_compat_devnode_arg *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	if (mode)
		*mode = CONTROL_MODE;
	return NULL;
}

static char *region_devnode(dsm_compat_devnode_arg *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	const struct dsm_region *r = to_node_dev(dev)->region;

	if (mode)
		*mode = r->mode & 0777;
	if (uid)
		*uid = r->owner;
	if (gid)
		*gid = r->group;
	return NULL;
}

static void node_dev_release(struct device *dev)
{
	kfree(to_node_dev(dev));
}

static const struct device_type control_type = {
	.name = "control",
	.groups = dsm_sysfs_control_groups,
	.devnode = control_devnode,
	.release = node_dev_release,
};

static const struct device_type region_type = {
	.name = "region",
	.groups = dsm_sysfs_region_groups,
	.devnode = region_devnode,
	.release = node_dev_release,
};

static int set_name(struct device *dev, const char *of, const struct dsm_region *r)
{
	return r ? dev_set_name(dev, "dsm%s-%s", of, r->name) : dev_set_name(dev, "dsm%s", of);
}

/* Not visible yet; put_device() frees it. */
static struct node_dev *node_dev_new(const struct device_type *type, int minor,
				     struct dsm_node *n, struct dsm_region *r)
{
	struct node_dev *nd = kzalloc(sizeof(*nd), GFP_KERNEL);
	int ret;

	if (!nd)
		return ERR_PTR(-ENOMEM);
	device_initialize(&nd->dev);
	nd->dev.class = &dsm_class;
	nd->dev.type = type;
	nd->dev.devt = MKDEV(MAJOR(first_devt), minor);
	nd->node = n;
	nd->region = r;
	ret = set_name(&nd->dev, dsm_node_suffix(n), r);
	if (ret) {
		put_device(&nd->dev);
		return ERR_PTR(ret);
	}
	return nd;
}

/**
 * dsm_device_region_get() - region of a device, for its sysfs attributes
 * @dev: a device of the class
 *
 * A region's own device is removed, which waits for readers of its attributes, before the
 * region goes: no reference is taken. /dev/dsm stays while its region comes and goes with the
 * membership, so there it is looked up.
 *
 * Context: process; may sleep.
 * Return: region, to be given to dsm_device_region_put(), or -ENOTCONN: this node has not joined.
 */
struct dsm_region *dsm_device_region_get(struct device *dev)
{
	struct dsm_region *r = to_node_dev(dev)->region;

	if (r)
		return r;
	r = dsm_node_region_get(to_node_dev(dev)->node, DSM_CTL_DEFAULT_REGION, false);
	return IS_ERR(r) ? ERR_PTR(-ENOTCONN) : r;
}

/**
 * dsm_device_region_put() - end of dsm_device_region_get()
 * @dev: the same device
 * @r:   what was returned
 *
 * Context: process; may sleep.
 */
void dsm_device_region_put(struct device *dev, struct dsm_region *r)
{
	if (!to_node_dev(dev)->region)
		dsm_node_region_put(r);
}

/**
 * dsm_device_node() - which node's is a device?
 * @dev: a device of the class
 *
 * Context: any.
 * Return: node; lives as long as the device can be seen.
 */
struct dsm_node *dsm_device_node(struct device *dev)
{
	return to_node_dev(dev)->node;
}

/**
 * dsm_device_control() - a node's /dev/dsm
 * @n: node
 *
 * Context: any.
 * Return: device.
 */
struct device *dsm_device_control(const struct dsm_node *n)
{
	return &control[dsm_node_number(n)]->dev;
}

/**
 * dsm_device_lookup() - what a minor number stands for
 * @minor: minor number
 * @r:     out: region with a reference; NULL for a /dev/dsm
 *
 * Context: process.
 * Return: node, or NULL: nothing.
 */
struct dsm_node *dsm_device_lookup(int minor, struct dsm_region **r)
{
	/* Pairs with add_controls(): they are all there. */
	u32 i, count = smp_load_acquire(&controls);

	*r = NULL;
	if (minor < count)
		return control[minor]->node;
	for (i = 0; i < count; i++) {
		*r = dsm_node_region_by_minor(control[i]->node, minor);
		if (!IS_ERR(*r))
			return control[i]->node;
	}
	*r = NULL;
	return NULL;
}

/**
 * dsm_ctl_region_add() - make the device node of a region
 * @r: region with its name, owner, group and mode set; findable by dsm_node_region_by_minor()
 *     as soon as its @minor is set, or opens give -ENXIO until it is
 *
 * The default region uses /dev/dsm, which is always there.
 *
 * Context: process; sleeps; the caller holds no lock that the calls behind sysfs or open take.
 * Return: 0; -ENOMEM; -ENOSPC: no minor is free; -EEXIST: the node exists.
 */
int dsm_ctl_region_add(struct dsm_region *r)
{
	struct node_dev *nd;
	int minor, ret;

	if (r->id == DSM_CTL_DEFAULT_REGION) {
		r->minor = dsm_node_number(r->node);
		r->device = dsm_device_control(r->node);
		return 0;
	}
	minor = ida_alloc_range(&minors, controls, MINORS - 1, GFP_KERNEL);
	if (minor < 0)
		return minor;
	r->minor = minor;
	nd = node_dev_new(&region_type, minor, r->node, r);
	if (IS_ERR(nd)) {
		ret = PTR_ERR(nd);
		goto err_minor;
	}
	r->device = &nd->dev;
	ret = device_add(&nd->dev);
	if (ret)
		goto err_device;
	return 0;

err_device:
	r->device = NULL;
	put_device(&nd->dev);
err_minor:
	r->minor = -1;
	ida_free(&minors, minor);
	return ret;
}

/**
 * dsm_ctl_region_del() - remove the device node of a region
 * @r: region that dsm_ctl_region_add() succeeded for
 *
 * Waits for readers of the region's sysfs attributes. Files that are open stay so.
 *
 * Context: process; sleeps; the caller holds no lock that the calls behind sysfs or open take.
 */
void dsm_ctl_region_del(struct dsm_region *r)
{
	struct device *dev = r->device;
	int minor = r->minor;

	r->device = NULL;
	if (!dev || r->id == DSM_CTL_DEFAULT_REGION)
		return;
	device_unregister(dev);
	/* Another node's region may have it next. */
	r->minor = -1;
	ida_free(&minors, minor);
}

/* The first @count. */
static void del_controls(u32 count)
{
	while (count--) {
		dsm_ctl_peers_del(control[count]->node);
		device_unregister(&control[count]->dev);
		control[count] = NULL;
	}
}

/* Nobody comes in, or hears of them, before all are there. */
static int add_controls(struct dsm_node * const *nodes, u32 count)
{
	struct node_dev *nd;
	u32 made, added;
	int ret;

	for (made = 0; made < count; made++) {
		nd = node_dev_new(&control_type, made, nodes[made], NULL);
		if (IS_ERR(nd)) {
			ret = PTR_ERR(nd);
			added = 0;
			goto err;
		}
		control[made] = nd;
	}
	for (added = 0; added < count; added++) {
		dev_set_uevent_suppress(&control[added]->dev, true);
		ret = device_add(&control[added]->dev);
		if (ret)
			goto err;
	}
	/* Pairs with dsm_device_lookup(). */
	smp_store_release(&controls, count);
	for (made = 0; made < count; made++) {
		dev_set_uevent_suppress(&control[made]->dev, false);
		kobject_uevent(&control[made]->dev.kobj, KOBJ_ADD);
	}
	return 0;

err:
	while (made-- > added) {
		put_device(&control[made]->dev);
		control[made] = NULL;
	}
	del_controls(added);
	return ret;
}

/**
 * dsm_ctl_init() - make the class and each node's /dev/dsm
 * @nodes: nodes by their number
 * @count: how many
 *
 * Context: module load, the last step: programs can come in before it returns.
 * Return: 0, -ENOMEM, -EBUSY (no device number is free), or what the driver core says.
 */
int dsm_ctl_init(struct dsm_node * const *nodes, u32 count)
{
	int ret = dsm_chardev_init();

	if (ret)
		return ret;
	ret = alloc_chrdev_region(&first_devt, 0, MINORS, "dsm");
	if (ret)
		goto err_chardev;
	ret = class_register(&dsm_class);
	if (ret)
		goto err_devt;
	dsm_sysfs_init();
	cdev_init(&cdev, &dsm_chardev_fops);
	cdev.owner = THIS_MODULE;
	ret = cdev_add(&cdev, first_devt, MINORS);
	if (ret)
		goto err_class;
	ret = add_controls(nodes, count);
	if (ret)
		goto err_cdev;
	return 0;

err_cdev:
	cdev_del(&cdev);
err_class:
	class_unregister(&dsm_class);
err_devt:
	unregister_chrdev_region(first_devt, MINORS);
err_chardev:
	dsm_chardev_exit();
	return ret;
}

/**
 * dsm_ctl_exit() - remove every /dev/dsm and the class
 *
 * Context: module unload; every region's node has been removed, no file is open.
 */
void dsm_ctl_exit(void)
{
	del_controls(controls);
	cdev_del(&cdev);
	class_unregister(&dsm_class);
	unregister_chrdev_region(first_devt, MINORS);
	dsm_chardev_exit();
	ida_destroy(&minors);
}
